"""`headscope probe`: what heads know of grammar, reference and meaning."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli.console import err, open_scope, out, progress, say_written

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from headscope.corpus.bad_data import Faults
    from headscope.corpus.treebanks.conllu import Sentence

Data = Annotated[str, typer.Argument(help="The data, or `sample` for the one that is shipped.")]
Model = Annotated[str | None, typer.Option(help="A hub name or a folder; else the bundled one.")]
Output = Annotated[Path, typer.Option("-o", "--output", help="The table, a .csv file.")]
Limit = Annotated[int | None, typer.Option(help="At most so many sentences or documents.")]
Bad = Annotated[str, typer.Option(help="What to do with bad data: skip (and count) or refuse.")]
Length = Annotated[int, typer.Option(help="Leave out what has more tokens.")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1, mps.")]
Mode = Annotated[str, typer.Option(help="What speaks for a split word: mean or first piece.")]
Picture = Annotated[Path | None, typer.Option("--map", help="A map as .svg, .png or .pdf.")]
Drawings = Annotated[Path | None, typer.Option(help="A folder for drawings of the best heads.")]


def register(app: typer.Typer) -> None:
    probe = typer.Typer(
        help="What a head, or all heads together, know of grammar, reference and meaning.",
        no_args_is_help=True,
    )
    probe.command("dependency")(dependency)
    probe.command("coreference")(coreference)
    probe.command("relations")(relations)
    probe.command("features")(features)
    app.add_typer(probe, name="probe")


def dependency(
    data: Data,
    output: Output,
    test: Annotated[str | None, typer.Option(help="Score on this; else on half of DATA.")] = None,
    train: Annotated[
        str | None, typer.Option(help="Also train the probes over all heads on this treebank.")
    ] = None,
    vectors: Annotated[str, typer.Option(help="Word vectors: glove or embeddings.")] = "glove",
    glove: Annotated[Path | None, typer.Option(help="A GloVe text file.")] = None,
    subtypes: Annotated[
        str, typer.Option(help="keep nsubj:pass apart, or fold into nsubj.")
    ] = "keep",
    possessive: Annotated[
        str, typer.Option(help="Score a possessor by its word or marker.")
    ] = "word",
    minimum: Annotated[int, typer.Option(help="Cases a relation needs for a row.")] = 100,
    mode: Mode = "mean",
    max_length: Length = 128,
    limit: Limit = None,
    bad: Bad = "skip",
    model: Model = None,
    device: Device = None,
    map_file: Picture = None,
    drawings: Drawings = None,
) -> None:
    """Which head finds the syntactic head of a word, relation by relation.

    DATA is a CoNLL-U file, folder or archive of any language (plain text is parsed with spaCy).
    Heads are chosen on DATA and scored on --test. Every head's accuracy goes beside the table
    (…-heads.csv), the probes over all heads with --train (…-probes.csv).

    Examples:

      headscope probe dependency en-dev.conllu --test en-test.conllu -o heads.csv --map heads.svg

      headscope probe dependency dev.conllu --test test.conllu --train train.conllu -o heads.csv
    """
    from headscope.probes.checkpoint import Checkpoint
    from headscope.probes.dependency.heads import probe_dependency

    dev, scored = _sentences(data, limit, bad), _sentences(test, limit, bad) if test else None
    scope = open_scope(model, device)
    settings = {"model": scope.name, "data": _stamp(data), "test": _stamp(test), "limit": limit,
                "mode": mode,
                "length": max_length, "subtypes": subtypes, "possessive": possessive}  # fmt: skip
    kept = [Checkpoint(_part(output, n), settings | {"pass": n}) for n in (1, 2)]
    with _counting("dependency", [dev, scored]) as seen:
        found = probe_dependency(
            scope, dev, scored, subtypes=_one_of("subtypes", subtypes, "keep", "fold"),
            possessive=_one_of("possessive", possessive, "word", "marker"),
            mode=_one_of("mode", mode, "mean", "first"), max_length=max_length, minimum=minimum,
            bad=_one_of("bad", bad, "skip", "refuse"), checkpoints=(kept[0], kept[1]),
            progress=seen,
        )  # fmt: skip
    _write(found.summary, output)
    _write(found.heads, _beside(output, "heads"))
    if map_file:
        from headscope.probes.drawings import relation_head_map

        _draw(relation_head_map(found), map_file)
    if drawings:
        from headscope.probes.drawings import best_heads

        for name, figure in best_heads(scope, found, dev):
            _draw(figure, _in_folder(drawings, name))
    _show(found.summary, ["relation", "cases", "layer", "head", "direction", "accuracy", "low",
                        "high", "baseline", "offset"])  # fmt: skip
    _say_faults(found.faults)
    if found.dropped_words:
        err.print(f"{found.dropped_words} words (or their heads) have no token here.")
    for checkpoint in kept:
        checkpoint.finish()
    if train:
        from headscope.probes.all_heads.run import probe_all_heads

        last = scored if scored is not None else dev
        with err.status("reading all maps") as status:
            whole = probe_all_heads(
                scope, _sentences(train, limit, bad), dev, last,
                vectors=_one_of("vectors", vectors, "glove", "embeddings"), glove=glove,
                mode=_one_of("mode", mode, "mean", "first"), max_length=max_length,
                bad=_one_of("bad", bad, "skip", "refuse"), progress=status.update,
            )  # fmt: skip
        _write(whole.summary, _beside(output, "probes"))
        _write(whole.heads, _beside(output, "probes-heads"))
        err.print(f"Word vectors: {whole.vectors}.", highlight=False)
        _show(whole.summary, list(whole.summary.columns))
        _say_faults(whole.faults)


def coreference(
    data: Data,
    output: Output,
    windows: Annotated[str, typer.Option(help="The first window of a document, or all.")] = "first",
    mode: Mode = "mean",
    max_length: Length = 128,
    limit: Limit = None,
    bad: Bad = "skip",
    model: Model = None,
    device: Device = None,
) -> None:
    """Which head attends from a mention to what it refers back to.

    DATA is CoNLL-2012 style (.conll), CoNLL-U with Entity= (.conllu) or GAP (.tsv): a file, a
    folder or an archive. Heads are chosen on every second document and scored on the others.

    Examples:

      headscope probe coreference ontogum.tar.xz -o coreference.csv
    """
    from headscope.corpus.coreference.documents import CoreferenceCorpus
    from headscope.corpus.sample import STORIES
    from headscope.probes.checkpoint import Checkpoint
    from headscope.probes.coreference.heads import probe_coreference

    path = STORIES if data == "sample" else Path(data)
    documents = CoreferenceCorpus(path, _one_of("bad", bad, "skip", "refuse"), limit)
    scope = open_scope(model, device)
    settings = {"model": scope.name, "data": _stamp(data), "limit": limit, "mode": mode,
                "length": max_length, "windows": windows}  # fmt: skip
    kept = [Checkpoint(_part(output, n), settings | {"pass": n}) for n in (1, 2)]
    with _counting("coreference", [documents] if windows == "first" else []) as seen:
        found = probe_coreference(
            scope, documents, which=_one_of("windows", windows, "first", "all"),
            mode=_one_of("mode", mode, "mean", "first"), max_length=max_length,
            bad=_one_of("bad", bad, "skip", "refuse"), checkpoints=(kept[0], kept[1]),
            progress=seen,
        )  # fmt: skip
    _write(found.summary, output)
    _write(found.heads, _beside(output, "heads"))
    _show(found.summary, list(found.summary.columns))
    err.print(f"Scored mentions: {found.cases}.", highlight=False)
    _say_faults(found.faults)
    for checkpoint in kept:
        checkpoint.finish()


def relations(
    data: Data,
    output: Output,
    shuffles: Annotated[int, typer.Option(help="Displaced corpora for the null.")] = 99,
    max_length: Length = 512,
    limit: Limit = None,
    bad: Bad = "skip",
    model: Model = None,
    device: Device = None,
    map_file: Picture = None,
    drawings: Drawings = None,
) -> None:
    """Which head links two spans of a text: a frame's words and the word that evokes it.

    DATA is JSONL (text, target, elements by character) or a FrameNet folder.

    Examples:

      headscope probe relations framenet.jsonl -o relations.csv --map relations.svg
    """
    from headscope.corpus.relations.examples import Relations
    from headscope.corpus.sample import RELATIONS
    from headscope.probes.relations.heads import probe_relations

    choice = _one_of("bad", bad, "skip", "refuse")
    found_in = Relations(RELATIONS if data == "sample" else data, choice, limit)
    scope = open_scope(model, device)
    with _counting("relations", [found_in]) as seen:
        found = probe_relations(
            scope, found_in, max_length=max_length, shuffles=shuffles, bad=choice, progress=seen
        )
    _write(found.heads, output)
    if map_file:
        from headscope.figures import layer_head_map

        title = "Elements to their target"
        _draw(layer_head_map(found.map(), title, "mean largest weight"), map_file)
    if drawings:
        from headscope.probes.drawings import relation_lines

        top: Any = found.best().iloc[0]
        for number, (relation, _) in enumerate(found.examples[:6], 1):
            figure = relation_lines(scope, relation, int(top["layer"]), int(top["head"]))
            _draw(figure, _in_folder(drawings, f"example-{number}"))
    best = found.heads.sort_values("score", ascending=False).groupby("variant", sort=False).head(3)
    _show(best, list(best.columns))
    _say_faults(found.faults)


def features(
    data: Data,
    output: Output,
    other: Annotated[
        str | None, typer.Option(help="A second model, to set beside the first.")
    ] = None,
    max_length: Length = 128,
    limit: Limit = None,
    bad: Bad = "skip",
    model: Model = None,
    device: Device = None,
) -> None:
    """How much attention goes to nouns, verbs, pronouns, subjects, objects, negation, specials.

    DATA is CoNLL-U (plain text is parsed with spaCy). With --other the two models stand side by
    side, with the change.

    Examples:

      headscope probe features en-dev.conllu --model bert-base-uncased --other my-model -o f.csv
    """
    from headscope.probes.features.attention import compare_features, probe_features

    sentences = _sentences(data, limit, bad)
    results: list[Any] = []
    for name in [model, *([other] if other else [])]:
        scope = open_scope(name, device)
        with _counting("features", [sentences]) as seen:
            choice = _one_of("bad", bad, "skip", "refuse")
            results.append(
                probe_features(scope, sentences, max_length=max_length, bad=choice, progress=seen)
            )
    table = compare_features(*results) if other else results[0].heads
    _write(table, output)
    column = "change" if other else "score"
    best = table.sort_values(column, ascending=False).groupby(["measure", "feature"]).head(1)
    _show(best, list(best.columns))
    _say_faults(results[0].faults)


def _sentences(data: str, limit: int | None, bad: str) -> Iterable[Sentence]:
    from headscope.corpus.sample import STORIES
    from headscope.corpus.treebanks.conllu import Treebank

    choice = _one_of("bad", bad, "skip", "refuse")
    if data.endswith(".txt"):
        from itertools import islice

        from headscope.corpus.treebanks.spacy_parse import parse_file

        err.print("Parsing plain text with spaCy; its labels are ClearNLP's.", highlight=False)
        return list(islice(parse_file(data), limit))
    return Treebank(STORIES if data == "sample" else data, choice, limit)


def _one_of(option: str, given: str, *allowed: str) -> Any:
    from headscope.errors import BadInput

    if given not in allowed:
        raise BadInput(f"--{option} is {' or '.join(allowed)}, not {given!r}.")
    return given


@contextmanager
def _counting(title: str, sources: list[Any]) -> Generator[Callable[[int], None]]:
    """A bar over all items of the sources; without sources the total stays open."""
    total = sum(sum(1 for _ in source) for source in sources if source is not None)
    with progress() as bar:
        task = bar.add_task(title, total=total or None)
        yield lambda count: bar.advance(task, count)


def _stamp(data: str | None) -> object:
    """What tells data from other data under the same name, for a run that goes on."""
    path = Path(data or "")
    if data is None or not path.exists():
        return data
    return [str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns]


def _part(output: Path, number: int) -> Path:
    return output.with_name(f".{output.name}.pass-{number}.npz")


def _beside(output: Path, what: str) -> Path:
    return output.with_name(f"{output.stem}-{what}{output.suffix}")


def _write(table: pd.DataFrame, path: Path) -> None:
    from headscope.files import atomic_path

    with atomic_path(path) as temporary:
        table.to_csv(temporary, index=False)
    say_written(path)


def _draw(figure: Figure, path: Path) -> None:
    from headscope.figures import save

    save(figure, path)
    say_written(path)


def _in_folder(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name.replace(':', '_')}.svg"


def _show(table: pd.DataFrame, columns: list[str]) -> None:
    out.print(table[columns].round(3).to_string(index=False), highlight=False, soft_wrap=True)


def _say_faults(faults: Faults) -> None:
    if len(faults):
        err.print(faults.summary(), highlight=False, markup=False, soft_wrap=True)
