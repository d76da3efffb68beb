"""The folder's own helpers (`planted`) are imported by their plain names."""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))
torch.set_num_threads(1)  # the maps here are small; threads only wait for each other
