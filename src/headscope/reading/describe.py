"""What headscope can read of a model, found by running it on a few tokens, not from its config."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from headscope.capture import Call, Kind, ReadAt, capture
from headscope.capture.call import allowed
from headscope.capture.door import masks_as_run
from headscope.capture.families import withholds_values
from headscope.capture.output_projection import watching
from headscope.errors import FOREIGN, HeadscopeError, first_line
from headscope.interrupts import stopped_safely
from headscope.models.evaluation import evaluating, tower_for
from headscope.models.placement import device_of

IMAGE_TOKENS = ("image_token_id", "image_token_index")  # names of the id in configurations


@dataclass(frozen=True)
class Description:
    """Layers and heads by kind, and how each kind's attention can be read."""

    layer_numbers: dict[Kind, tuple[int, ...]]  # of the layers that attend
    heads: dict[Kind, int]  # of the layer with the most
    groups: dict[Kind, int]
    dims: dict[Kind, int]  # neurons of q and k, if every layer of the kind gives them
    read_at: ReadAt
    reads_qk: bool
    reads_values: bool  # and v
    positional_bias: bool
    causal: bool  # it attends only to earlier tokens; False if an encoder reads the text first
    read_as_run: bool  # its outputs under capture equal those without

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(self.layer_numbers)

    @property
    def layers(self) -> dict[Kind, int]:
        """The number of layers up to the last that attends; hybrid models have others between."""
        return {kind: numbers[-1] + 1 for kind, numbers in self.layer_numbers.items()}


def describe(model: nn.Module, given: Mapping[str, Tensor] | None = None) -> Description:
    """`given` are inputs for the trial, if the smallest ones do not suffice."""
    layers: defaultdict[Kind, set[int]] = defaultdict(set)
    heads: Counter[Kind] = Counter()
    groups: Counter[Kind] = Counter()
    dims: Counter[Kind] = Counter()
    without: set[Kind] = set()
    ways: list[ReadAt] = []
    seen = {
        "qk": True,
        "values": True,
        "bias": False,
        "causal": False,
        "finite": True,
        "as run": True,
    }

    times: Counter[tuple[Kind, int]] = Counter()
    in_pieces: set[Kind] = set()

    def look(call: Call) -> None:
        times[call.kind, id(call.module)] += 1
        if given is not None and times[call.kind, id(call.module)] > 1:
            in_pieces.add(call.kind)
        layers[call.kind].add(call.layer)
        heads[call.kind] = max(heads[call.kind], call.heads)
        groups[call.kind] = max(groups[call.kind], call.groups)
        ways.append(call.read_at)
        seen["qk"] &= call.q is not None
        seen["values"] &= call.v is not None
        if call.q is None:
            without.add(call.kind)
        else:
            dims[call.kind] = max(dims[call.kind], call.q.shape[-1])
        seen["bias"] |= call.bias is not None or _adds(call.mask)
        seen["causal"] |= call.causal
        seen["finite"] &= bool(torch.isfinite(call.weights).all())

    with stopped_safely(), torch.no_grad(), evaluating(model), watching(model) as note:

        def both(call: Call) -> None:
            look(call)
            note(call)

        for inputs in [given] if given is not None else trials(model):
            if not _read_as_run(model, inputs):
                masks_as_run.add(model)
                seen["as run"] &= _read_as_run(model, inputs)
            times.clear()
            with capture(model, both, scores=True):
                _run(model, inputs)
    if not seen["finite"]:
        raise HeadscopeError(
            f"The attention of {type(model).__name__} is NaN even on a few tokens: its weights "
            f"are damaged or overflow; load it again, or with dtype='float32'."
        )
    for kind in in_pieces:  # a tower that attends window by window: its layers cannot be counted
        del layers[kind]
    order: tuple[Kind, ...] = ("encoder", "decoder", "cross")
    return Description(
        layer_numbers={kind: tuple(sorted(layers[kind])) for kind in order if kind in layers},
        heads={kind: heads[kind] for kind in order if kind in layers},
        groups={kind: groups[kind] for kind in order if kind in layers},
        dims={kind: dims[kind] for kind in order if kind in layers and kind not in without},
        read_at=ways[0],
        reads_qk=seen["qk"],
        reads_values=seen["values"] and not withholds_values(model),
        positional_bias=seen["bias"],
        causal=seen["causal"] and not getattr(model.config, "is_encoder_decoder", False),
        read_as_run=seen["as run"],
    )


def _read_as_run(model: nn.Module, inputs: Mapping[str, Tensor]) -> bool:
    """Whether a model gives the same output with and without capture."""
    if withholds_values(model):  # block-sparse BigBird turns itself dense on so few tokens
        return True
    plain = _run(model, inputs)
    with capture(model, _see_nothing):
        captured = _run(model, inputs)
    if _alike(plain, captured):
        return True
    return not _alike(plain, _run(model, inputs))  # some models draw at random


def _see_nothing(call: Call) -> None:
    del call


def _alike(one: Any, other: Any) -> bool:
    """Whether two outputs are the same but for rounding."""
    tensors = [_first(output) for output in (one, other)]
    if tensors[0] is None or tensors[1] is None or tensors[0].shape != tensors[1].shape:
        return True  # nothing to compare
    a, b = (tensor.float() for tensor in tensors if tensor is not None)
    tolerance = 1e-3 if tensors[0].dtype == torch.float32 else 5e-2
    return float((a - b).abs().max()) <= tolerance * max(1.0, float(a.abs().max()))


def _first(output: Any) -> Tensor | None:
    values: Any = output.values() if hasattr(output, "values") else ()
    found = (one for one in values if isinstance(one, Tensor) and one.is_floating_point())
    return next((one for one in found if one.numel()), None)


def _adds(mask: Tensor | None) -> bool:
    """Whether the family passes its positional bias inside the mask."""
    if mask is None or mask.dtype == torch.bool:
        return False
    return bool(mask[allowed(mask)].any())


def _run(model: nn.Module, inputs: Mapping[str, Tensor]) -> Any:
    try:
        return tower_for(model, inputs)(**inputs)
    except FOREIGN as error:
        if isinstance(error, HeadscopeError):
            raise
        raise HeadscopeError(
            f"{type(model).__name__} did not run on the smallest inputs it should take "
            f"({first_line(error)}); "
            "use scope.capture with inputs of your own."
        ) from error


def trials(model: nn.Module) -> list[Mapping[str, Tensor]]:
    """Inputs for one pass, or one for each of two towers, whose layers are numbered separately."""
    inputs = trial_inputs(model)
    seen = {name: inputs[name] for name in inputs if name == "pixel_values"}
    if not seen or tower_for(model, seen) is model:
        return [inputs]
    return [seen, {name: inputs[name] for name in inputs if name not in seen}]


def trial_inputs(model: nn.Module) -> dict[str, Tensor]:
    """The smallest inputs a model runs on: four tokens, a blank picture or a silent sound."""
    own: Any = getattr(model, "trial_inputs", None)
    if own is not None:
        return dict(own())
    configuration: Any = model.config
    device = device_of(model)
    main = getattr(model, "main_input_name", "input_ids")
    pieces = [getattr(configuration, name, None) for name in IMAGE_TOKENS]  # stand for pictures
    one, two, three = [number for number in range(1, 9) if number not in pieces][:3]
    tokens = torch.tensor([[one, two, three, two]], device=device)
    inputs: dict[str, Tensor] = {}
    if main == "input_ids":
        inputs = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
    reads_both = any(number is not None for number in pieces)
    if main == "pixel_values" or (hasattr(configuration, "vision_config") and not reads_both):
        inputs["pixel_values"] = _blank_picture(configuration).to(device)
    if main == "input_features":
        bins = getattr(configuration, "num_mel_bins", 80)
        frames = 2 * getattr(configuration, "max_source_positions", 1500)
        inputs[main] = torch.zeros(1, bins, frames, device=device)
    if main == "input_values":
        inputs[main] = torch.zeros(_sound_shape(configuration), device=device)
    if getattr(configuration, "is_encoder_decoder", False):
        inputs["decoder_input_ids"] = tokens
    return inputs


def _sound_shape(configuration: Any) -> tuple[int, ...]:
    """The number of samples, or of moments of a spectrogram if patches are cut from one (AST)."""
    if getattr(configuration, "time_stride", None) is not None:
        return 1, configuration.max_length, configuration.num_mel_bins
    return 1, 4000


def _blank_picture(configuration: Any) -> Tensor:
    vision = getattr(configuration, "vision_config", configuration)
    size = getattr(vision, "image_size", 224)
    height, width = size if isinstance(size, (tuple, list)) else (size, size)
    return torch.zeros(1, getattr(vision, "num_channels", 3), height, width)


def image_token(configuration: Any) -> int | None:
    """The id that marks a position for a piece of a picture, or None for models without."""
    for name in IMAGE_TOKENS:
        number = getattr(configuration, name, None)
        if isinstance(number, int):
            return number
    return None
