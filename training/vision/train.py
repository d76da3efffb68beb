"""Train the small vision model: python -m training.vision.train -o digits-vit.

A ViT of 4 layers × 4 heads over 8 × 8 patches, from scratch, some minutes on one core.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessorPil

from training.vision.digits import SIDE, draw

MEAN, SPREAD = 0.5, 0.5
POOL, REDRAWN = 16_384, 400  # pictures drawn at a time, and for how many steps


def new_model() -> ViTForImageClassification:
    torch.manual_seed(0)
    return ViTForImageClassification(
        ViTConfig(
            image_size=SIDE,
            patch_size=4,
            hidden_size=64,
            num_hidden_layers=4,
            num_attention_heads=4,
            intermediate_size=128,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            num_labels=10,
            id2label={digit: str(digit) for digit in range(10)},
        )
    )


def tensors(
    count: int, seed: int, held_out: bool = False, device: str = "cpu"
) -> tuple[torch.Tensor, torch.Tensor]:
    made = draw(count, seed, held_out)
    pixels = torch.from_numpy(made.pixels).to(device).permute(0, 3, 1, 2).float() / 255
    return (pixels - MEAN) / SPREAD, torch.from_numpy(made.labels).to(device)


def train(steps: int, batch: int, rate: float, device: str) -> ViTForImageClassification:
    model = new_model().train().to(device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, steps, pct_start=0.1)
    random = torch.Generator(device).manual_seed(0)
    for step in range(steps):
        if step % REDRAWN == 0:  # new places, inks and noise for the same digits
            pixels, labels = tensors(POOL, seed=step + 1, device=device)
        chosen = torch.randint(POOL, (batch,), device=device, generator=random)
        loss = model(pixel_values=pixels[chosen], labels=labels[chosen]).loss
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        if step % 500 == 499:
            told = f"loss {loss.item():.3f}  held out {accuracy(model):.3f}"
            print(f"rate {rate}  step {step + 1}  {told}", flush=True)
    return model.eval()


@torch.no_grad()
def accuracy(model: ViTForImageClassification, count: int = 1000) -> float:
    pixels, labels = tensors(count, seed=0, held_out=True, device=str(model.device))
    was = model.training
    found = model.eval()(pixel_values=pixels).logits.argmax(-1)
    model.train(was)
    return float((found == labels).float().mean())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--rate", type=float, default=1e-3)
    given = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = train(given.steps, given.batch, given.rate, device)
    print(f"held out {accuracy(model, 5000):.3f}")
    model.half().save_pretrained(given.output)
    processor = ViTImageProcessorPil(
        size={"height": SIDE, "width": SIDE}, image_mean=[MEAN] * 3, image_std=[SPREAD] * 3
    )
    processor.save_pretrained(given.output)
    print(f"wrote {given.output}")


if __name__ == "__main__":
    main()
