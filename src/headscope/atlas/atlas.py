"""An atlas: a survey with every head's examples and profiles, opened as a map of heads."""

from __future__ import annotations

import importlib
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from headscope.arguments import need_kind, need_scope
from headscope.atlas import file
from headscope.atlas.excerpt import NOWHERE, DocumentTokens, excerpt
from headscope.capture import Kind
from headscope.errors import BadInput
from headscope.results import HeadResult

if TYPE_CHECKING:
    import pandas as pd

    from headscope.atlas.behaviours.result import Behaviours
    from headscope.reading import Reading, Scope
    from headscope.text.tokenise import Text

PROFILES = (
    "offset", "query_token", "key_token", "pair", "position", "length", "key_word", "key_speech",
    "speech", "relation", "writes",
)  # fmt: skip
UNLABELLED = ("confidence", "focus")  # the measure of the examples shown for a head without a label


class Atlas(HeadResult):
    """Every head's measures, labels, examples, profiles and neighbours over a corpus.

    Its tables are those of the file (see docs/how-to/atlas.md); an opened file is read table by
    table, on first use.
    """

    def __init__(
        self,
        description: dict[str, Any],
        tables: dict[str, pd.DataFrame],
        store: file.Store | None = None,
    ) -> None:
        self.description = description
        self._tables = dict(tables)
        self._store = store
        self._search: Any = None
        self.indexes: dict[str, Any] = {}  # vectors for nearest examples, one index per head

    def __repr__(self) -> str:
        about = self.description
        shapes = [f"{k}: {n} layers × {h} heads" for k, (n, h) in about.get("shape", {}).items()]
        parts = [
            *shapes,
            f"{about.get('tokens', 0):,} tokens",
            *([] if self.has_text else ["no text"]),
        ]
        return f"<{self.title}: {', '.join(parts)}>"

    # what it holds

    def frame(self, name: str) -> pd.DataFrame:
        """One of the file's tables, by name."""
        if name not in self._tables:
            if self._store is None or name not in self._store.names:
                there = f"it has {', '.join(self.names)}."
                raise BadInput(f"This atlas has no table {name!r}; {_WHY.get(name, there)}")
            self._tables[name] = self._store.table(name)
        return self._tables[name]

    def has(self, name: str) -> bool:
        return name in self._tables or (self._store is not None and name in self._store.names)

    @property
    def names(self) -> tuple[str, ...]:
        """The tables it has."""
        return tuple(name for name in file.TABLES if self.has(name))

    @property
    def table(self) -> pd.DataFrame:
        return self.frame("heads")

    @property
    def title(self) -> str:
        return f"Atlas of {self.model}"

    @property
    def path(self) -> Path | None:
        """The file it was opened from."""
        return None if self._store is None else self._store.path

    @property
    def model(self) -> str:
        return str(self.description.get("model", "a model"))

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(self.table["kind"].unique())

    @property
    def complete(self) -> bool:
        """Whether the whole corpus was read; the atlas of a stopped run holds only a part."""
        return bool(self.description.get("complete", True))

    @property
    def has_text(self) -> bool:
        return bool(self.description.get("text", True))

    @property
    def labels(self) -> pd.DataFrame:
        """The labels that hold, each head's strongest first."""
        rows: Any = self.frame("labels")
        kept = rows[rows["labelled"]].sort_values(
            ["kind", "layer", "head", "score"], ascending=[True, True, True, False], kind="stable"
        )
        return kept.drop(columns="labelled").reset_index(drop=True)

    def label(self, layer: int, head: int, kind: Kind | None = None) -> str | None:
        """The pattern of a head's strongest label, by name; None for a head without one."""
        rows = self._of_head(self.labels, layer, head, kind)
        return None if rows.empty else str(rows.iloc[0]["pattern"])

    # examples

    def examples(
        self,
        layer: int,
        head: int,
        n: int | None = 20,
        *,
        measure: str | None = None,
        decile: int | None = None,
        kind: Kind | None = None,
        around: int = 12,
    ) -> pd.DataFrame:
        """Examples of what a head does, the strongest first.

        Without a measure, the examples are those of the head's label; without a label, those of
        `confidence`. `decile` (0 to 9) gives examples of that decile instead; where values tie,
        some deciles are empty (see the table `deciles`). `text` is the example with `around` tokens
        on each side, the query in [[ ]] and the key it attends to most in << >>; it is empty where
        an atlas keeps no text.
        """
        if decile is not None and decile not in range(-1, 10):
            raise BadInput(f"decile is 0 (the lowest tenth) to 9 (the highest), not {decile!r}.")
        rows: Any = self._of_head(self.frame("examples"), layer, head, kind)
        name = measure or self.shown_measure(layer, head, kind)
        found = rows[
            (rows["measure"] == name) & (rows["decile"] == (-1 if decile is None else decile))
        ]
        if found.empty and name not in set(self.frame("examples")["measure"]):
            there = ", ".join(sorted(self.frame("examples")["measure"].unique()))
            raise BadInput(f"This atlas has no examples of {name!r}; it has examples of {there}.")
        found = found.sort_values("rank").head(len(found) if n is None else n)
        texts = [
            self.excerpt(row.kind, row.document, row.query, row.keys[:1], around)
            for row in found.itertuples()
        ]
        return found.assign(text=texts).reset_index(drop=True)

    def excerpt(self, kind: Any, number: int, query: int, keys: Any, around: int = 12) -> str:
        """An example as one line; the key of cross attention stands in the text that was read."""
        text = self.document(number, kind)
        if kind != "cross":
            return excerpt(text, query, keys, around)
        parts = [excerpt(text, query, (), around), *(self.key_excerpt(number, key) for key in keys)]
        return " ⟵ ".join(parts)

    def key_excerpt(self, number: int, key: int, around: int = 4) -> str:
        """A key of cross attention, in the text that the encoder read."""
        return excerpt(self.document(number, "encoder"), NOWHERE, [key], around, about=key)

    def check(self, scope: Scope) -> None:
        """Raise an error if the scope's weights are not those of the atlas's model."""
        from headscope.runs import model_fingerprint

        made_of = self.description.get("weights")
        if made_of is not None and made_of != model_fingerprint(scope.model):
            raise BadInput(
                f"This atlas was made from {self.model}, and its weights differ from those of "
                f"{scope.name}; open that model, or make an atlas of this one."
            )

    def shown_measure(self, layer: int, head: int, kind: Kind | None = None) -> str:
        """The measure of a head's examples if none is named: its label's, or confidence."""
        return self.label(layer, head, kind) or UNLABELLED[0]

    def document(self, number: int, kind: Kind | None = None) -> DocumentTokens | None:
        """A text that examples come from; None where no text was kept."""
        if not self.has_text:
            return None
        of = kind or self.kinds[0]
        of = "decoder" if of == "cross" else of  # its queries are tokens of the decoder's text
        return self._documents.get((of, int(number)))

    def text(self, scope: Scope, number: int) -> tuple[str, str | None]:
        """An example's text as people type it, and its second sentence or the decoder's text."""
        from headscope.atlas.example_texts import typed

        return typed(scope.tokenizer, self._kept(number))

    def read(self, scope: Scope, number: int) -> Reading:
        """The text that an example comes from, read again: from an example to its reading."""
        from headscope.atlas.example_texts import read_again

        need_scope(scope)
        self.check(scope)
        return read_again(scope, self._kept(number))

    def _kept(self, number: int) -> pd.DataFrame:
        rows: Any = self.frame("documents")
        rows = rows[rows["document"] == number]
        if not self.has_text or rows.empty:
            raise BadInput(f"This atlas has no text {number}.")
        return rows

    @cached_property
    def _documents(self) -> dict[tuple[str, int], DocumentTokens]:
        rows: Any = self.frame("documents")
        return {
            (row.kind, int(row.document)): DocumentTokens(
                int(row.document),
                tuple(row.tokens),
                np.asarray(row.segments, dtype=np.int8),
                np.asarray(row.continues, dtype=bool),
            )
            for row in rows.itertuples()
        }

    # profiles and neighbours

    def profiles(
        self, layer: int, head: int, which: str | None = None, kind: Kind | None = None
    ) -> pd.DataFrame:
        """What a head looks for: `which` is one of `PROFILES`, such as offset, key_token or speech.

        `count` is how often, `expected` how often by chance, `lift` their ratio and `p` how often
        chance alone would do as well; see docs/how-to/atlas.md for what chance is.
        """
        rows: Any = self._of_head(self.frame("profiles"), layer, head, kind)
        if which is None:
            return rows.reset_index(drop=True)
        if which not in PROFILES:
            raise BadInput(f"A profile is one of {', '.join(PROFILES)}, not {which!r}.")
        return rows[rows["profile"] == which].reset_index(drop=True)

    def neighbours(
        self, layer: int, head: int, n: int = 5, kind: Kind | None = None
    ) -> pd.DataFrame:
        """The heads that attend most alike, nearest first: layer, head, distance, label."""
        rows: Any = self._of_head(self.frame("distances"), layer, head, kind)
        near = rows.nsmallest(n, "distance").reset_index(drop=True)
        names = [
            self.label(row.other_layer, row.other_head, cast("Kind", row.kind))
            for row in near.itertuples()
        ]
        near = near[["kind", "other_layer", "other_head", "distance"]]
        near.columns = ["kind", "layer", "head", "distance"]
        return near.assign(label=names)

    @property
    def behaviours(self) -> Behaviours | None:
        """What `with_behaviours` added; None in other atlases."""
        from headscope.atlas.behaviours.kept import kept

        return kept(self)

    def with_behaviours(self, found: Behaviours) -> Atlas:
        """This atlas with the result of `hs.behaviours`: page, app and `save` then have it.

        Parameters
        ----------
        found
            From `hs.behaviours(scope, atlas)`.

        Returns
        -------
        Atlas
            A new atlas; this one stays as it is.
        """
        from headscope.atlas.behaviours.kept import described, tables_of
        from headscope.atlas.behaviours.result import Behaviours

        need_kind(found, Behaviours, "found=", "a result of hs.behaviours(scope, atlas)")
        if found.model != self.model:
            raise BadInput(
                f"These behaviours are of {found.model}, and this atlas is of {self.model}."
            )
        for layer, head in found.heads:
            self.need(layer, head, cast("Kind", found.kind))
        tables = {name: self.frame(name) for name in self.names} | tables_of(found)
        return Atlas({**self.description, "behaviours": described(found)}, tables)

    # search and comparison

    def find(self, n: int | None = 50, **wanted: Any) -> pd.DataFrame:
        """Kept examples that fit everything asked for, the heaviest first, `n` of them (None: all).

        What can be asked: `query`, `key` (a token, a word or "/expression/"), `query_pos`,
        `key_pos` (a part of speech), `head` as (layer, head), `layer`, `kind`, `offset` (a number
        or (least, most)), `weight` (the least), `same_word`, and `around`, the tokens of text to
        show on each side: see `headscope.atlas.search.Search.find`.
        """
        from headscope.atlas.search import ASKED, Search

        odd = ", ".join(sorted(set(wanted) - set(ASKED)))
        if odd:
            raise BadInput(f"find has no option {odd}; it has {', '.join(ASKED)}.")
        if self._search is None:
            self._search = Search(self)
        return self._search.find(n, **wanted)

    def nearest(
        self, scope: Scope, text: Text | Reading, query: int, layer: int, head: int, **options: Any
    ) -> pd.DataFrame:
        """Examples where a head does most alike: see `headscope.atlas.nearest`."""
        from headscope.atlas.nearest import nearest

        return nearest(self, scope, text, query, layer, head, **options)

    # on screen

    def page(self, path: str | Path, **options: Any) -> Path:
        """Write the atlas as one HTML page: points, table, and every head's texts.

        The options are those of `hs.atlas_view`. With `ablations` (results of `hs.ablate`, one or a
        list) a head's panel says what disabling it does.
        """
        return self._view(**options).save(path)

    def _view(self, **options: Any) -> Any:
        return importlib.import_module("headscope").atlas_view(self, **options)  # imports upwards

    def _repr_html_(self) -> str:
        return self._view()._repr_html_()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """With a picture for places that show no page, such as untrusted notebooks."""
        return self._view()._repr_mimebundle_(include, exclude)

    # on disk

    def save(self, path: str | Path) -> None:
        """Write the atlas as one file (a zip of Parquet tables)."""
        file.write(path, self.description, {name: self.frame(name) for name in self.names})

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Open an atlas: the file, or a folder it was unpacked to."""
        store = file.Store(path)
        about = {k: v for k, v in store.description.items() if k not in ("format", "version")}
        return cls(about, {}, store)

    def need(self, layer: int | None, head: int | None, kind: Kind | None) -> None:
        """Raise an error if there is no such kind of attention, layer or head."""
        heads: Any = self.table
        if kind is not None:
            heads = heads[heads["kind"] == kind]
        if heads.empty:
            raise BadInput(
                f"This atlas has no {kind} attention; it has {' and '.join(self.kinds)}."
            )
        here = (heads["layer"] == layer) | (layer is None)
        if not (here & ((heads["head"] == head) | (head is None))).any():
            name = f"head {layer}-{head}" if head is not None else f"layer {layer}"
            raise BadInput(
                f"There is no {'' if kind is None else f'{kind} '}{name} in this atlas; it has "
                f"layers 0 to {heads['layer'].max()} and heads 0 to {heads['head'].max()}."
            )

    def _of_head(
        self, frame: pd.DataFrame, layer: int, head: int, kind: Kind | None
    ) -> pd.DataFrame:
        chosen = kind or self.kinds[0]
        self.need(layer, head, chosen)
        rows: Any = frame
        return rows[(rows["kind"] == chosen) & (rows["layer"] == layer) & (rows["head"] == head)]


_WHY = {
    "distances": "make it with distances=True to know how alike heads are.",
    "groups": "make it with distances=True to group heads.",
    "behaviours": "add them: atlas.with_behaviours(hs.behaviours(scope, atlas)).",
}
