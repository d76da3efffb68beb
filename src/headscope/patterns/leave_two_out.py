"""The leave-two-out measure: how much each word helps the model to guess each other word."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from headscope.capture import Kind
from headscope.errors import BadInput
from headscope.patterns.as_statistics import PARTS
from headscope.patterns.map_scores import score_maps
from headscope.patterns.pattern import pattern_named
from headscope.patterns.rank_correlation import RankPattern
from headscope.reading.predict import word_logits
from headscope.runs import Run, State
from headscope.statistics.accumulator import Moments
from headscope.statistics.features.grid import grid_of

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Scope
    from headscope.text.tokenise import Batch

AT_ONCE = 64
MOST_TOKENS = 40  # a longer text would take over 800 readings; it is cut


def helpfulness(scope: Scope, text: str) -> Tensor:
    """π (n n): row i, column j is how much token j helps to guess token i; special tokens 0."""
    batch = scope.encode([text], [None], truncate=True, max_tokens=MOST_TOKENS)
    return _by_hiding(scope, batch) if scope.causal else _by_masking(scope, batch)


def predictive(
    scope: Scope,
    texts: Iterable[str | tuple[str, str | None]],
    limit: int = 50,
    run: Run | None = None,
) -> pd.DataFrame:
    """The pattern "predictive words" over a sample of texts, as rows of a survey's table.

    As a part of a run, it saves what was measured.
    """
    import pandas as pd

    pattern = pattern_named("predictive")
    assert isinstance(pattern, RankPattern)
    run = run or Run(None, {})
    kept, title = run.part("predictive"), "Guessing masked words"
    heads: list[tuple[int, int]] = []
    parts: dict[str, Moments] = {}
    done, kind = 0, scope.kinds[0]
    if (state := kept.recall()) is not None:
        done = int(state.position["texts"])
        heads = [(layer, head) for layer, head in state.position["heads"]]
        parts = {part: Moments(len(heads)) for part in PARTS}
        for part, moments in parts.items():
            moments.restore({n: state.arrays[f"{part}/{n}"] for n in moments.arrays()})

    def now() -> State:
        arrays = {
            f"{part}/{name}": array
            for part, moments in parts.items()
            for name, array in moments.arrays().items()
        }
        return State({"texts": done, "heads": heads}, arrays)

    chosen = list(itertools.islice(texts, limit))
    run.tell(done, len(chosen), title=title)
    for number in range(done, len(chosen)):
        values, heads = _scored(scope, chosen[number], pattern, kind)
        with kept.step(now):
            for part in PARTS:
                moments = parts.setdefault(part, Moments(len(heads)))
                moments.add(np.array([number]), values[part].double().numpy())
            done += 1
        run.tell(done, len(chosen), title=title)
    rows: list[pd.DataFrame] = []
    for part, moments in parts.items():
        value, error, count = moments.result()
        rows.append(
            pd.DataFrame(
                {
                    "kind": kind,
                    "layer": [layer for layer, _ in heads],
                    "head": [head for _, head in heads],
                    "measure": pattern.name if part == "score" else f"{pattern.name}:{part}",
                    "value": value, "error": error, "count": count,
                }
            )
        )  # fmt: skip
    return pd.concat(rows, ignore_index=True) if done else pd.DataFrame()


def _scored(
    scope: Scope, item: str | tuple[str, str | None], pattern: RankPattern, kind: Kind
) -> tuple[dict[str, Tensor], list[tuple[int, int]]]:
    """One text's scores and yardsticks, 1 × heads each, and which heads (layer, head) they are."""
    first, second = (item, None) if isinstance(item, str) else item
    batch = scope.encode([first], [second], truncate=True, max_tokens=MOST_TOKENS)
    relation = _by_hiding(scope, batch) if scope.causal else _by_masking(scope, batch)
    maps: list[Tensor] = []
    scope.forward(batch, lambda call: maps.append(call.weights[0].float().cpu()))
    following = pattern.comparing(lambda grid, queries: relation[None, queries])
    grid = grid_of(batch.tokens, kind=kind, causal=scope.causal)
    scores = score_maps(following, torch.cat(maps)[None], grid)
    assert scores is not None
    heads = [(layer, head) for layer, one in enumerate(maps) for head in range(len(one))]
    return {**scores._asdict(), "excess": scores.score - scores.null}, heads


def _by_masking(scope: Scope, batch: Batch) -> Tensor:
    """π of a masked language model: every token masked alone, and every two together."""
    mask_id = getattr(scope.tokenizer, "mask_token_id", None)
    if mask_id is None:
        raise BadInput(f"{scope.name} has no mask token, so it cannot predict masked words.")
    tokens, ids = batch.tokens[0], batch.inputs["input_ids"][0]
    content = np.flatnonzero(tokens.content).tolist()
    pairs = [(i, i) for i in content]
    pairs += [(i, j) for index, i in enumerate(content) for j in content[index + 1 :]]
    guessed: dict[tuple[int, int], float] = {}  # (word, other masked word) -> log p
    for start in range(0, len(pairs), AT_ONCE):
        some = pairs[start : start + AT_ONCE]
        masked = ids.repeat(len(some), 1)
        for row, (i, j) in enumerate(some):
            masked[row, i] = masked[row, j] = mask_id
        logits = _logits(scope, batch, masked)
        for row, (i, j) in enumerate(some):
            guessed[i, j] = float(logits[row, i].log_softmax(-1)[ids[i]])
            guessed[j, i] = float(logits[row, j].log_softmax(-1)[ids[j]])
    helped = torch.zeros(len(tokens), len(tokens))
    for i in content:
        for j in content:
            helped[i, j] = guessed[i, i] - guessed[i, j]
    return helped


def _by_hiding(scope: Scope, batch: Batch) -> Tensor:
    """π of a model that continues text: each earlier token hidden from attention in turn."""
    tokens, ids = batch.tokens[0], batch.inputs["input_ids"]
    n = len(tokens)
    whole = _next_logits(scope, ids, torch.ones_like(ids))[0]
    helped = torch.zeros(n, n)
    for start in range(0, n, AT_ONCE):
        hidden = list(range(start, min(n, start + AT_ONCE)))
        seen = torch.ones(len(hidden), n, dtype=torch.long, device=ids.device)
        for row, j in enumerate(hidden):
            seen[row, j] = 0
        without = _next_logits(scope, ids.repeat(len(hidden), 1), seen)
        for row, j in enumerate(hidden):
            helped[j + 1 :, j] = (whole - without[row])[j + 1 :]
    return helped


def _next_logits(scope: Scope, ids: Tensor, seen: Tensor) -> Tensor:
    """log p of every token given those before it, b n; the first has none and gets 0."""
    output: Any = scope.forward({"input_ids": ids, "attention_mask": seen})
    logs = word_logits(scope, output)[:, :-1].log_softmax(-1)
    found = logs.gather(2, ids[:, 1:, None])[..., 0]
    return torch.nn.functional.pad(found, (1, 0)).cpu()


def _logits(scope: Scope, batch: Batch, ids: Tensor) -> Tensor:
    inputs = {name: tensor.repeat(len(ids), 1) for name, tensor in batch.inputs.items()}
    return word_logits(scope, scope.forward({**inputs, "input_ids": ids})).cpu()
