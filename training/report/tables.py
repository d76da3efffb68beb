"""The tables of the bundled model's page, each a function from the results to Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Results = dict[str, Any]
LENGTHS = ("64", "128", "512")
NAMES = {
    "next_word": "next word",
    "previous_word": "previous word",
    "same_word": "same word",
    "other_sentence": "same word, other sentence",
    "sibling_pieces": "sibling pieces",
    "delimiter": "delimiter",
    "bag_of_words": "bag of words",
    "punctuation": "(punctuation)",
}
PACKAGE = {"other_sentence": "same_word_other"}  # what the package calls it


def markdown(heading: str, rows: Iterable[Iterable[str]]) -> str:
    """`heading` is the first row; columns after the first are numbers and stand to the right."""
    columns = heading.count("|") + 1
    rule = "---|" + "|".join(["---:"] * (columns - 1))
    return "\n".join([f"| {heading} |", f"|{rule}|", *(f"| {' | '.join(row)} |" for row in rows)])


def head_of(best: dict[str, Any]) -> str:
    return f"{best['layer']}-{best['head']}"


def held_out(results: Results) -> str:
    def row(length: str) -> list[str]:
        r = results["final"]["held_out"][length]
        return [
            f"{length} tokens",
            f"{r['accuracy']:.3f}",
            f"{r['perplexity']:.2f}",
            f"{r['bits_per_character']:.2f}",
            f"{r['next_sentence_accuracy']:.3f}",
            f"{r['unigram_accuracy']:.3f} / {r['unigram_perplexity']:.0f}",
            f"{r['bigram_accuracy']:.3f} / {r['bigram_perplexity']:.0f}",
        ]

    heading = (
        "inputs of | masked words right | perplexity | bits a character | next sentence right "
        "| unigram: right / perplexity | bigram: right / perplexity"
    )
    return markdown(heading, map(row, LENGTHS))


def patterns(results: Results) -> str:
    def row(name: str) -> list[str]:
        cells = [NAMES[name]]
        for length in LENGTHS:
            best = results["final"]["patterns"][length]["best"][name]
            cells += [head_of(best), f"{best['score']:.2f}", f"{best['lift']:.1f}×"]
        best = results["final"]["patterns"]["128"]["best"][name]
        return [*cells, f"{best['null']:.3f}", f"{best['null_best']:.3f}"]

    heading = "pattern"
    for length in LENGTHS:
        heading += f" | {length}: head | score | lift"
    return markdown(f"{heading} | null at 128 | best of any head in 20 shuffles", map(row, NAMES))


def package(results: Results) -> str:
    """The recipe's scores and the package's, at 64 tokens."""

    def cell(best: dict[str, Any]) -> list[str]:
        return [head_of(best), f"{best['score']:.2f}"]

    def row(name: str) -> list[str]:
        ours = results["final"]["patterns"]["64"]["best"][name]
        found = {
            corpus: results["package"][corpus]["64"]["best"][PACKAGE.get(name, name)]
            for corpus in ("held-out", "wikitext")
        }
        held = found["held-out"]
        return [
            NAMES[name],
            *cell(ours),
            *cell(held),
            f"± {1.96 * held['error']:.3f}",
            f"{held['null']:.3f}",
            "< 1e-9" if held["p"] < 1e-9 else f"{held['p']:.1g}",
            *cell(found["wikitext"]),
        ]

    heading = (
        "pattern | recipe: head | score | package, held-out text: head | score | 95 % | null | p "
        "| package, WikiText-2: head | score"
    )
    return markdown(heading, (row(name) for name in NAMES if name != "punctuation"))


def _marked(results: Results) -> list[dict[str, Any]]:
    """Checkpoints worth a row: of the second stretch only those after its warm-up."""
    rows = results["checkpoints"]["checkpoints"]
    first = results["checkpoints"]["stretches"][0]["steps"]
    return [row for row in rows if row["stretch"] == 1 or row["step"] > first + 800]


def emergence(results: Results) -> str:
    names = list(NAMES)

    def row(found: dict[str, Any]) -> list[str]:
        cells = [f"{found['step']:,}", f"{found['tokens'] / 1e6:,.0f} M"]
        cells.append(f"{found['held_out']['128']['perplexity']:,.1f}")
        for name in names:
            best = found["best"][name]
            cells.append(f"{best['score']:.2f} ({head_of(best)})")
        return cells

    heading = "step | tokens | perplexity | " + " | ".join(NAMES[n].strip("()") for n in names)
    return markdown(heading, map(row, _marked(results)))


def resting(results: Results) -> str:
    found = results["resting"]
    checkpoints = {
        f"step {int(name.removeprefix('step-')):,}": rows for name, rows in found.items()
    }
    last = list(found.values())[-1]

    def row(number: int) -> list[str]:
        cells = [f"{last[number]['length']} tokens"]
        for rows in checkpoints.values():
            best = rows[number]["delimiter"]
            cells.append(f"{best['delimiter']:.2f} ({head_of(best)})")
        best, stops = last[number]["delimiter"], last[number]["punctuation"]
        cells += [f"{best[f'delimiter_{part}']:.2f}" for part in ("cls", "sep1", "sep2")]
        cells += [f"{best['uniform']:.3f}", f"{best['delimiter'] / best['uniform']:.1f}×"]
        cells.append(f"{stops['punctuation']:.2f} ({head_of(stops)})")
        return [*cells, f"{stops['uniform']:.3f}"]

    heading = (
        "inputs of | "
        + " | ".join(checkpoints)
        + " | of it [CLS] | first [SEP] | last [SEP] | uniform | lift | punctuation | uniform"
    )
    return markdown(heading, (row(number) for number in range(len(last))))


TABLES: dict[str, Callable[[Results], str]] = {
    "held_out": held_out,
    "patterns": patterns,
    "package": package,
    "emergence": emergence,
    "resting": resting,
}
