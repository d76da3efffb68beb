"""Which functions refuse which family of the matrix; every other one must answer."""

from __future__ import annotations

MATRICES = {"copying", "composition", "ov_tokens", "qk_tokens"}
PATHS = {"path_patch", "edges"}
HEADS = {*PATHS, "patch(what='heads')"}
PATCHES = {"patch", *HEADS}
PARTS = {"attribute", "mixing", "score", "with_weightings", *MATRICES, *PATCHES}
SURVEYS = {"survey", "patterns", "atlas"}
OUTPUTS = {"head_outputs", "mixing", "with_weightings"}
INPUTS = {"inputs"}

REFUSED: dict[str, set[str]] = {
    "ConvBERT": OUTPUTS | MATRICES | HEADS,
    "SqueezeBERT": OUTPUTS | PARTS,
    "XLNet": OUTPUTS | PARTS,
    "XLM": MATRICES | PATCHES,
    "Funnel": SURVEYS | PARTS,
    "Longformer": OUTPUTS | PATHS,
    "BigBird, block-sparse": PARTS,
    "BLOOM": MATRICES | PATHS,
    "MPT": PATCHES,
    "Falcon, ALiBi": MATRICES,
    "ProphetNet": PARTS,
    "LED": OUTPUTS | MATRICES,
    "CLIP, text": INPUTS | PATHS,
    "Jamba": PARTS,
    "Qwen3-Next": PARTS,
    "LFM2": PARTS,
    "Granite 4, hybrid": PARTS,
    "RecurrentGemma": PARTS,
    "Gemma 3n": PARTS,
    "Gemma 4": MATRICES | PATCHES | INPUTS,
    "Qwen3.5": PARTS,
}
