"""The map classifier: eight convolutions, the mean over the picture, one linear layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from headscope.patterns.kinds.picture import CHANNELS
from headscope.patterns.kinds.rules import KINDS

WIDTHS = (8, 8, 16, 16, 32, 32, 64, 64)


class MapClassifier(nn.Module):
    """Pictures (n, CHANNELS, SIZE, SIZE) to scores (n, kinds)."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        before = CHANNELS
        for index, width in enumerate(WIDTHS):
            layers += [nn.Conv2d(before, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
            if index % 2 == 1 and index + 1 < len(WIDTHS):
                layers.append(nn.MaxPool2d(2))
            before = width
        self.body = nn.Sequential(*layers)
        # the mean says how much of a feature there is, the largest that there is one line of it
        self.head = nn.Linear(2 * before, len(KINDS))

    def forward(self, pictures: Tensor) -> Tensor:
        found = self.body(pictures)
        pooled = torch.cat([found.mean((2, 3)), found.amax((2, 3))], dim=1)
        return self.head(pooled)
