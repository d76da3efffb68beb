"""Train the map classifier on the checked labels, and say how good it is.

    python -m training.kinds.train            five folds, then the network that is shipped
    python -m training.kinds.train --folds    the five folds alone

Prints macro-F1, the confusion matrix, the written rules on the same maps, calibration, and the
agreement of the two labelling passes; writes them to `results.json` beside this file.
"""

from __future__ import annotations

import argparse
import json
from importlib import resources

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from sklearn.metrics import cohen_kappa_score, confusion_matrix, f1_score
from torch import Tensor
from torch.nn.functional import cross_entropy, interpolate

from headscope.files import atomic_path
from headscope.patterns.kinds.classify import KINDS, SIZE, WEIGHTS, MapClassifier, picture
from training.kinds import labels
from training.kinds.folds import folds
from training.kinds.maps import maps
from training.kinds.rules import masses, rule

EPOCHS, BATCH, RATE, DECAY = 45, 32, 4e-3, 5e-3


def train(pictures: Tensor, classes: Tensor, seed: int = 0) -> MapClassifier:
    """A network fitted to pictures; classes weigh alike however rare they are."""
    torch.manual_seed(seed)
    draw = torch.Generator().manual_seed(seed)
    network = MapClassifier().train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=DECAY)
    steps = EPOCHS * -(-len(pictures) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps)
    counts = torch.bincount(classes, minlength=len(KINDS)).clamp(min=1)
    weight = (len(classes) / (len(KINDS) * counts)).sqrt()
    for _ in range(EPOCHS):
        for chosen in torch.randperm(len(pictures), generator=draw).split(BATCH):
            if len(chosen) < 2:
                chosen = torch.cat([chosen, chosen])
            batch = vary(pictures[chosen], draw)
            loss = cross_entropy(
                network(batch), classes[chosen], weight=weight, label_smoothing=0.05
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return network.eval()


def vary(pictures: Tensor, draw: torch.Generator) -> Tensor:
    """Changes that leave the kind of map as it is: reading backwards, another length, noise."""
    if torch.rand(1, generator=draw) < 0.5:
        pictures = pictures.flip(2, 3)
    if torch.rand(1, generator=draw) < 0.6:
        size = int(torch.randint(16, SIZE, (1,), generator=draw))
        small = interpolate(pictures, (size, size), mode="area")
        pictures = interpolate(small, (SIZE, SIZE), mode="nearest")
    gain = 0.8 + 0.4 * torch.rand(len(pictures), 1, 1, 1, generator=draw)
    return pictures * gain + 0.03 * torch.randn(pictures.shape, generator=draw)


def scores_of(network: MapClassifier, pictures: Tensor) -> Tensor:
    with torch.inference_mode():
        return torch.cat([network(part) for part in pictures.split(64)]).clone()


def temperature_of(scores: Tensor, classes: Tensor) -> float:
    """The temperature at which held-out probabilities are likeliest."""
    grid = torch.linspace(0.3, 4, 75)
    losses = torch.stack([cross_entropy(scores / one, classes) for one in grid])
    return float(grid[losses.argmin()])


def calibration_error(scores: Tensor, classes: Tensor, bins: int = 10) -> float:
    """Expected calibration error of the likeliest class."""
    best, guess = scores.softmax(1).max(1)
    right = (guess == classes).float()
    place = (best * bins).long().clamp(max=bins - 1)
    gaps = [
        (place == b).float().mean() * (best[place == b].mean() - right[place == b].mean()).abs()
        for b in range(bins)
        if (place == b).any()
    ]
    return float(torch.stack(gaps).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folds", action="store_true", help="do not write the shipped network")
    only_folds = parser.parse_args().folds
    torch.set_num_threads(1)
    frame = labels.read()
    places = labels.places(frame)
    found = maps(places)
    pictures = torch.stack([picture(found[place].weights) for place in places])
    classes = torch.tensor([KINDS.index(label) for label in frame["label"]])
    ruled = np.array([KINDS.index(rule(masses(*found[place]))) for place in places])

    held_out = torch.zeros(len(classes), len(KINDS))
    by_fold: list[float] = []
    for number, (seen, test) in enumerate(folds(frame)):
        network = train(pictures[seen], classes[seen], seed=number)
        held_out[test] = scores_of(network, pictures[test])
        by_fold.append(macro(classes[test].numpy(), held_out[test].argmax(1).numpy()))
        print(
            f"fold {number}: {len(seen)} train, {len(test)} test, macro-F1 {by_fold[-1]:.3f}",
            flush=True,
        )
    temperature = temperature_of(held_out, classes)
    guessed, truth = held_out.argmax(1).numpy(), classes.numpy()
    results = {
        "maps": len(classes),
        "labels": {name: int((truth == k).sum()) for k, name in enumerate(KINDS)},
        "changed_by_eye": int((frame["rule"] != frame["label"]).sum()),
        "macro_f1": round(macro(truth, guessed), 3),
        "macro_f1_by_fold": [round(value, 3) for value in by_fold],
        "accuracy": round(float((truth == guessed).mean()), 3),
        "rules_macro_f1": round(macro(truth, ruled), 3),
        "rules_accuracy": round(float((truth == ruled).mean()), 3),
        "confusion": confusion_matrix(truth, guessed, labels=range(len(KINDS))).tolist(),
        "rules_confusion": confusion_matrix(truth, ruled, labels=range(len(KINDS))).tolist(),
        "temperature": round(temperature, 2),
        "calibration_error": round(calibration_error(held_out / temperature, classes), 3),
        **agreement(),
    }
    print(json.dumps(results, indent=1))
    (labels.HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    if not only_folds:
        write(train(pictures, classes, seed=100), temperature, results)


def macro(truth: NDArray[np.int64], guessed: NDArray[np.int64]) -> float:
    return float(
        f1_score(truth, guessed, average="macro", labels=range(len(KINDS)), zero_division=0)
    )


def agreement() -> dict[str, object]:
    """How far the second, blind pass agrees with the first."""
    if not labels.SECOND.exists():
        return {}
    keys = ["model", "layer", "head", "text"]
    both = labels.read().merge(labels.read(labels.SECOND), on=keys, suffixes=("", "_second"))
    same = (both["label"] == both["label_second"]).mean()
    return {
        "labelled_twice": len(both),
        "agreement": round(float(same), 3),
        "kappa": round(float(cohen_kappa_score(both["label"], both["label_second"])), 3),
    }


def write(network: MapClassifier, temperature: float, results: dict[str, object]) -> None:
    """The network as it is shipped, in half precision."""
    state = {
        name: value.half().contiguous() if value.is_floating_point() else value
        for name, value in network.state_dict().items()
    }
    kept = {"kinds": list(KINDS), "temperature": temperature, "macro_f1": results["macro_f1"]}
    target = resources.files("headscope.patterns.kinds") / WEIGHTS
    with resources.as_file(target) as path, atomic_path(path) as temporary:
        save_file(state, temporary, metadata={"headscope": json.dumps(kept)})
    print(f"Wrote {path} ({path.stat().st_size:,} bytes)")


if __name__ == "__main__":
    main()
