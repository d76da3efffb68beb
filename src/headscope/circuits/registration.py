"""Registers the measures of circuits."""

from __future__ import annotations

from math import inf

from headscope.measures import Measure
from headscope.measures import register as add

BACK = "(patched − corrupted) / (clean − corrupted)"
READS = "How strongly the head's {} read what an earlier head writes: the largest over those heads."
# name, title, sentence, unit, low, high, formula, paper
ROWS: tuple[tuple[str, str, str, str, float, float, str, str], ...] = (
    ("logit", "adds to the logit",
     "What the head adds to the logit of the answer, norms held at the scale they had.",
     "logits", -inf, inf, "z_h W_O · ∂logit/∂stream", "nostalgebraist 2020; Elhage et al. 2021"),
    ("patch", "brings back",
     "The share of the clean answer that comes back when the head is as on the clean prompt.",
     "share", -inf, inf, BACK, "Wang et al. 2022"),
    ("patch_estimate", "brings back, estimated",
     "The same to first order, for all heads from one gradient.",
     "share", -inf, inf, "(z_clean − z_corrupted) · ∂metric/∂z", "Syed et al. 2023"),
    ("path", "brings back by one path",
     "The share of the clean answer that comes back when the head alone hears the sender.",
     "share", -inf, inf, BACK, "Goldowsky-Dill et al. 2023"),
    ("edges", "speaks in the circuit",
     "What the head tells later parts by the circuit's edges: the sum of their scores' sizes.",
     "metric", 0, inf, "Σ |(z_clean − z_corrupted) · mean ∂metric/∂input|", "Hanna et al. 2024"),
    ("copying", "copying",
     "Whether what the head moves raises the token it came from: 1 copies, −1 suppresses.",
     "share", -1, 1, "Σλ / Σ|λ| over eigenvalues λ of W_E W_V W_O W_U", "Elhage et al. 2021"),
    ("q_composition", "query composition", READS.format("queries"),
     "share", 0, 1, "max ‖W_OV W_QK‖ / (‖W_OV‖ ‖W_QK‖)", "Elhage et al. 2021"),
    ("k_composition", "key composition", READS.format("keys"),
     "share", 0, 1, "max ‖W_OV W_QKᵀ‖ / (‖W_OV‖ ‖W_QK‖)", "Elhage et al. 2021"),
    ("v_composition", "value composition", READS.format("values"),
     "share", 0, 1, "max ‖W_OV W_OV′‖ / (‖W_OV‖ ‖W_OV′‖)", "Elhage et al. 2021"),
    ("copy_suppression", "copy suppression",
     "The share of tokens that are among the ten the head lowers most when it looks at them.",
     "share", 0, 1, "mean over t of [rank of −(W_E W_V W_O W_U)_tt in its row ≤ 10]",
     "McDougall et al. 2023"),
    ("successor", "successor",
     "The share of days, months and numerals for which the head raises the next one most.",
     "share", 0, 1, "mean over t of [argmax over u ≠ t of (W_E W_V W_O W_U)_tu follows t]",
     "Gould et al. 2023"),
    ("name_mover", "name mover",
     "What the head adds to the right name over the wrong one, taken from the right name; a "
     "negative name mover is below 0.",
     "logits", -inf, inf, "Σ_(j ∈ name) α_ij v_j W_O · ∂(right − wrong)", "Wang et al. 2022"),
    ("retrieval", "retrieval",
     "How often the head looks most at the needle's word when the text asks for it.",
     "share", 0, 1, "mean of [argmax_j α_ij = needle]", "Wu et al. 2024"),
    ("positional", "positional",
     "The share of queries whose strongest key lies at the head's commonest relative position.",
     "share", 0, 1, "max_δ mean_i [argmax_j α_ij = i + δ]", "Voita et al. 2019"),
    ("rare_word", "rare word",
     "The share of texts in which the rarest word is the key that is most often strongest.",
     "share", 0, 1, "mean of [mode_i argmax_j α_ij = rarest]", "Voita et al. 2019"),
    ("massive_activation", "massive activation",
     "How many times the median hidden value the largest one is, after the layer.",
     "times", 1, inf, "max |x| / median |x|", "Sun et al. 2024"),
)  # fmt: skip


def register() -> None:
    """Add every number per head that circuits compute."""
    add(*(Measure(*row, origin="circuit") for row in ROWS))
