"""From a prompt to a proven circuit on SmolLM2-135M; the story of docs/how-to/circuits.md.

python examples/circuit_story.py SmolLM2-135M-Instruct.Q4_1.gguf [folder for pictures]
"""

import sys
from pathlib import Path

import headscope as hs
from headscope.figures import save

scope = hs.load(sys.argv[1], name="SmolLM2-135M")
text = "When Mary and John went to the store, John gave a drink to"

# who made the prediction?
made = hs.attribute(scope, text, target=("Mary", "John"))
print(made.title, made.likeliest[0])
for part in made.strongest(6, "head"):
    by_key = made.by_key(part.layer, part.head)
    word = made.query[int(abs(by_key).argmax())]
    raised, lowered = made.promotes[f"decoder.{part.layer}.{part.head}"]
    print(f"{part.label} {part.value:+.2f} from {word!r}; lowers {lowered.tokens[:3]}")

# would it fall without them?
pairs = hs.circuits.task("names", n=12).fitting(scope)
proof = hs.circuits.patch(scope, pairs, method="both", progress=False)
shown = ["layer", "head", "value", "low", "high", "p_holm"]
print(proof.top("patch", 6)[shown].round(3).to_string(index=False))
print(f"estimate and exact patch agree in rank: {proof.agreement:.2f}")

# whom do the heads that add nothing themselves tell?
some = hs.circuits.Pairs("names", pairs.pairs[:4])
for through in ("q", "k", "v"):
    heard = hs.circuits.path_patch(scope, some, sender=(20, 0), through=through)
    best = heard.top("path", 2)[["layer", "head", "value"]].round(3)
    print(f"20-0 through {through}:", *best.itertuples(index=False, name=None))

# what do their weights say?
copying = hs.circuits.copying(scope).map("copying")
for layer, head in [tuple(row) for row in proof.top("patch", 4)[["layer", "head"]].to_numpy()]:
    print(f"{layer}-{head} copying {copying[layer, head]:+.2f}")

if len(sys.argv) > 2:
    folder = Path(sys.argv[2])
    hs.prediction_view(made).save(folder / "circuits-flow.png")
    save(proof.plot("patch"), folder / "circuits-patch.png")
