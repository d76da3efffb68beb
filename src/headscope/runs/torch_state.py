"""A network in training as plain arrays and JSON: opening a state never runs anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

Arrays = dict[str, NDArray[Any]]


def pack_tensors(prefix: str, tensors: dict[str, Tensor]) -> Arrays:
    return {f"{prefix}/{name}": t.detach().cpu().numpy() for name, t in tensors.items()}


def unpack_tensors(prefix: str, arrays: Arrays) -> dict[str, Tensor]:
    import torch

    return {
        name.removeprefix(f"{prefix}/"): torch.from_numpy(array)
        for name, array in arrays.items()
        if name.startswith(f"{prefix}/")
    }


def pack_training(module: nn.Module, optimiser: torch.optim.Optimizer) -> tuple[Arrays, list[Any]]:
    """Weights, moments and random state as arrays; the optimiser's settings as JSON."""
    import torch

    state = optimiser.state_dict()
    arrays = pack_tensors("model", module.state_dict())
    for number, values in state["state"].items():
        arrays |= pack_tensors(f"optimiser/{number}", values)
    random = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        random |= {str(n): one for n, one in enumerate(torch.cuda.get_rng_state_all())}
    return {**arrays, **pack_tensors("random", random)}, state["param_groups"]


def unpack_training(
    module: nn.Module, optimiser: torch.optim.Optimizer, arrays: Arrays, groups: list[Any]
) -> None:
    """Put a packed state back, random state included."""

    module.load_state_dict(unpack_tensors("model", arrays))
    moments: dict[int, dict[str, Tensor]] = {}
    for path, tensor in unpack_tensors("optimiser", arrays).items():
        number, _, name = path.partition("/")
        moments.setdefault(int(number), {})[name] = tensor
    for group in groups:
        group["betas"] = tuple(group["betas"])  # JSON made a list of it
    optimiser.load_state_dict({"state": moments, "param_groups": groups})
    restore_random(arrays)


def restore_random(arrays: Arrays) -> None:
    import torch

    random = unpack_tensors("random", arrays)
    torch.set_rng_state(random.pop("cpu"))
    if torch.cuda.is_available() and random:
        torch.cuda.set_rng_state_all([random[name] for name in sorted(random, key=int)])
