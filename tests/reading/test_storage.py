"""A reading survives the disk, and its file opens without headscope."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

import headscope as hs
from headscope.errors import BadInput, HeadscopeError
from headscope.files import write_tensors
from headscope.reading import Reading
from headscope.text.tokens import Tokens
from tests.full_disk import full_beyond

ARRAYS = ("weights", "q", "k", "v", "bias", "mask", "sinks")
EMOJI = "the cat 😀 sat ."


@pytest.mark.parametrize(
    "fixture", ["tiny_bert", "tiny_gemma", "tiny_t5", "tiny_deberta", "tiny_llama"]
)
def test_everything_comes_back(fixture: str, request, tmp_path: Path) -> None:
    scope: hs.Scope = request.getfixturevalue(fixture)
    reading = scope.read(EMOJI, "a dog ran", keep=("weights", "q", "k", "v"))
    reading.metadata["prompt_tokens"] = 3
    reading.save(tmp_path / "r.safetensors")
    back = Reading.load(tmp_path / "r.safetensors")
    assert back.model == reading.model
    assert back.metadata == reading.metadata
    assert back.kinds == reading.kinds
    for kind in reading.kinds:
        one, other = reading.part(kind), back.part(kind)
        assert (one.causal, one.rotary, one.why_no_qk) == (
            other.causal,
            other.rotary,
            other.why_no_qk,
        )
        for side in ("query", "key"):
            for name in (field.name for field in dataclasses.fields(Tokens)):
                stored, found = (getattr(getattr(part, side), name) for part in (one, other))
                np.testing.assert_array_equal(stored, found)
        for layer, loaded in zip(one.layers, other.layers, strict=True):
            for name in ("layer", *ARRAYS, "scaling", "window", "softcap"):
                stored, found = getattr(layer, name), getattr(loaded, name)
                np.testing.assert_array_equal(stored, found, err_msg=name)


def test_plain_safetensors_opens_it(tiny_bert: hs.Scope, tmp_path: Path) -> None:
    reading = tiny_bert.read(EMOJI)
    reading.save(tmp_path / "r.safetensors")
    tensors = load_file(tmp_path / "r.safetensors")
    np.testing.assert_array_equal(tensors["encoder.1.weights"], reading.part().weights(1))
    assert tensors["encoder.0.q"].shape == (4, len(reading.tokens), 8)
    header = (tmp_path / "r.safetensors").read_bytes()
    size = int.from_bytes(header[:8], "little")
    metadata = json.loads(header[8 : 8 + size])["__metadata__"]
    assert json.loads(metadata["headscope"])["parts"]["encoder"]["query"]["texts"] == [EMOJI]


def test_word_level_and_given_readings_can_be_kept_too(tiny_bert: hs.Scope, tmp_path: Path) -> None:
    words = tiny_bert.read(EMOJI).words()
    words.save(tmp_path / "w.safetensors")
    np.testing.assert_array_equal(
        Reading.load(tmp_path / "w.safetensors").attention, words.attention
    )


def test_an_unchanged_file_is_left_when_writing_fails(tiny_bert: hs.Scope, tmp_path: Path) -> None:
    path = tmp_path / "r.safetensors"
    reading = tiny_bert.read("the cat")
    reading.save(path)
    before = path.read_bytes()
    reading.metadata["no"] = object()
    with pytest.raises(TypeError):
        reading.save(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["r.safetensors"]


def test_a_full_disk_is_told_in_a_sentence_and_the_old_file_stays(
    tiny_bert: hs.Scope, tmp_path: Path
) -> None:
    path = tmp_path / "r.safetensors"
    reading = tiny_bert.read("the cat sat on the mat")
    reading.save(path)
    before = path.read_bytes()
    told = pytest.raises(HeadscopeError, match=r"could not be written .*; free some space")
    with told, full_beyond(len(before) // 2):
        reading.save(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["r.safetensors"]


def test_one_array_given_for_several_layers_is_saved_for_each(tmp_path: Path) -> None:
    same = np.full((1, 2, 3, 3), 1 / 3, dtype=np.float32)
    Reading.from_attention([same, same], ["a", "b", "c"]).save(tmp_path / "r.safetensors")
    back = Reading.load(tmp_path / "r.safetensors")
    np.testing.assert_array_equal(back.attention, np.concatenate([same, same]))


def test_an_opened_reading_can_be_copied_and_sent_to_another_process(
    tiny_bert: hs.Scope, tmp_path: Path
) -> None:
    reading = tiny_bert.read("the cat sat")
    reading.save(tmp_path / "r.safetensors")
    sent = pickle.dumps(Reading.load(tmp_path / "r.safetensors"))
    copied = copy.deepcopy(Reading.load(tmp_path / "r.safetensors"))
    (tmp_path / "r.safetensors").unlink()
    for found in (pickle.loads(sent), copied):
        np.testing.assert_array_equal(found.attention, reading.attention)
        np.testing.assert_array_equal(found.part().layers[1].q, reading.part().layers[1].q)


@pytest.mark.parametrize("damage", ["cut", "noise", "empty", "text"])
def test_a_damaged_file_is_refused_in_one_sentence(
    tiny_bert: hs.Scope, tmp_path: Path, damage: str
) -> None:
    path = tmp_path / "r.safetensors"
    tiny_bert.read("the cat").save(path)
    whole = path.read_bytes()
    path.write_bytes(
        {
            "cut": whole[: len(whole) // 2],
            "noise": whole[:200] + b"\x00" * 50 + whole[250:],
            "empty": b"",
            "text": b"not a reading at all, only words",
        }[damage]
    )
    with pytest.raises(BadInput, match=r"is damaged or not a reading; save it again\.$"):
        Reading.load(path)


def test_other_safetensors_files_are_told_apart(tmp_path: Path) -> None:
    save_file({"a": np.zeros(3)}, tmp_path / "model.safetensors")
    with pytest.raises(BadInput, match="a safetensors file but not a reading"):
        Reading.load(tmp_path / "model.safetensors")
    described = {"headscope": json.dumps({"format": 99})}
    save_file({"a": np.zeros(3)}, tmp_path / "newer.safetensors", metadata=described)
    with pytest.raises(BadInput, match="written by a newer headscope; upgrade"):
        Reading.load(tmp_path / "newer.safetensors")
    described = {"headscope": json.dumps({"format": 1})}
    save_file({"a": np.zeros(3)}, tmp_path / "half.safetensors", metadata=described)
    with pytest.raises(BadInput, match="is damaged"):
        Reading.load(tmp_path / "half.safetensors")


def test_missing_places_are_named(tiny_bert: hs.Scope, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="There is no reading"):
        Reading.load(tmp_path / "none.safetensors")
    reading = tiny_bert.read("the cat")
    with pytest.raises(HeadscopeError, match="does not exist; create it or choose another"):
        reading.save(tmp_path / "no" / "r.safetensors")
    with pytest.raises(HeadscopeError, match="is a folder; give the name of a file"):
        reading.save(tmp_path)


def _labels_cut(described: dict, tensors: dict) -> None:
    described["parts"]["encoder"]["query"]["labels"].pop()


def _tokens_added(described: dict, tensors: dict) -> None:
    for values in described["parts"]["encoder"]["key"].values():
        values.append(values[-1])


def _layer_twice(described: dict, tensors: dict) -> None:
    layers = described["parts"]["encoder"]["layers"]
    layers.append(layers[0])


def _weights_turned(described: dict, tensors: dict) -> None:
    tensors["encoder.1.weights"] = tensors["encoder.1.weights"][:, :, :3].contiguous()


def _keys_of_other_heads(described: dict, tensors: dict) -> None:
    tensors["encoder.0.k"] = tensors["encoder.0.k"][:3].contiguous()


def _word_beyond(described: dict, tensors: dict) -> None:
    described["parts"]["encoder"]["query"]["words"][1] = 99


@pytest.mark.parametrize(
    "break_it",
    [
        _labels_cut,
        _tokens_added,
        _layer_twice,
        _weights_turned,
        _keys_of_other_heads,
        _word_beyond,
    ],
    ids=lambda one: one.__name__,
)
def test_a_file_whose_parts_do_not_fit_is_refused(
    break_it, tiny_bert: hs.Scope, tmp_path: Path
) -> None:
    path = tmp_path / "r.safetensors"
    tiny_bert.read("the cat sat", keep=("weights", "q", "k")).save(path)
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        described = json.loads(file.metadata()["headscope"])
    tensors = {name: torch.from_numpy(one) for name, one in load_file(path).items()}
    break_it(described, tensors)
    write_tensors(tensors, path, {"headscope": json.dumps(described)})
    with pytest.raises(BadInput, match="is inconsistent"):
        Reading.load(path)
