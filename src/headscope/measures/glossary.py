"""Words that a reader of the app's panel may not know, as docs/understand/glossary.md has them."""

from __future__ import annotations

GLOSSARY: dict[str, str] = {
    "query": "the token that attends",
    "key": "the token attended to",
    "weight": "the share of a query's attention that goes to a key; a row sums to 1",
    "entropy": (
        "how widely a query spreads its attention, in nats: 0 is one key, ln n all n alike"
    ),
    "confidence": "the mean of each query's largest weight",
    "distance": "how many tokens away attention goes, on average",
    "sink": "a token that takes the attention a head has no use for, often the first",
    "pattern": "a named behaviour with a score and evidence",
    "null": "the score that the same head has when its keys are shuffled",
    "lift": "the score divided by that of uniform attention",
    "excess": "the score minus the null",
    "label": (
        "a pattern whose score is large, and larger than chance after correcting for all heads"
    ),
    "induction": (
        "attending from a repeated token to what followed it before: `A B … A` looks at `B`"
    ),
    "importance": "the size of the loss's slope at a gate before each head",
    "likeness": "1 where two heads attend alike, 0 where they look at nothing in common",
    "corpus": "many texts together; what a head does over them is surer than on one",
    "neurons": "the numbers of a query and a key; multiplied and summed they make the score",
    "softmax": "turns scores into shares that sum to 1",
    "predictions": "what the model would write at a position, the likeliest first",
    "probability": "the share of certainty a model gives one answer; over all answers it sums to 1",
    "logit": "the score of a word before it is turned into a probability",
}
