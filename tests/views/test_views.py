"""Every view, found by discovery: it builds, draws, opens on something clear, refuses nonsense."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import warnings
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headscope as hs
from headscope.atlas.bundled import bundled_atlas
from headscope.errors import BadInput
from headscope.figures import save
from headscope.views import Sending, discover, draw, of_text
from headscope.views.shared.labels import Label, as_labels, labels_for
from headscope.views.shared.state import State, checked, options_of, state_of
from headscope.views.wire import schema
from headscope.views.wire.part import thumbnail

PAIR = ("I went to the store.", "At the store, I bought fresh strawberries.")
ADDRESSED = [*State.__struct_fields__, *options_of(*discover().values())]
WEB = Path(__file__).parents[2] / "web" / "src"


@pytest.fixture(scope="module")
def tiny_bert_reading(request):
    return request.getfixturevalue("tiny_bert").read(*PAIR)


def test_the_page_has_a_folder_for_every_view():
    homes = (WEB / "views", *(WEB / "more").iterdir())  # of the page, and of what it fetches later
    assert set(discover()) == {
        folder.name for home in homes for folder in home.iterdir() if folder.is_dir()
    }


@pytest.mark.parametrize("name", sorted(of_text()))
@pytest.mark.parametrize("scope", ["tiny_bert", "tiny_llama", "tiny_t5", "tiny_deberta"])
def test_every_view_builds_from_every_kind_of_reading(name, scope, request):
    data = discover()[name].build(request.getfixturevalue(scope).read(*PAIR))
    header = json.loads(data.header_json())
    assert header["view"] == header["state"]["view"] == name
    assert set(header["buffers"]) == set(data.buffers)


@pytest.mark.parametrize("name", sorted(of_text()))
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_every_view_draws_without_a_warning(name, kind, tiny_t5):
    reading = tiny_t5.read(*PAIR)
    state = discover()[name].build(reading, kind=kind).header["state"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for file_format, start in (("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
            written = io.BytesIO()
            save(draw(name, reading, state), written, file_format)
            assert written.getvalue().startswith(start)


def test_the_same_figure_gives_the_same_bytes(tiny_bert):
    reading = tiny_bert.read(*PAIR)
    state = discover()["head"].build(reading).header["state"]
    files = []
    for _ in range(2):
        written = io.BytesIO()
        save(draw("head", reading, state), written, "svg")
        files.append(written.getvalue())
    assert files[0] == files[1]


@pytest.mark.parametrize("name", sorted(of_text()))
@pytest.mark.parametrize("scope", ["tiny_bert", "tiny_llama", "tiny_t5", "tiny_deberta"])
def test_every_header_is_what_the_schema_of_the_page_says(name, scope, request):
    reading = request.getfixturevalue(scope).read(*PAIR)
    data = discover()[name].build(reading, sending=Sending(labels=labels_for(reading)))
    msgspec.convert(json.loads(data.header_json()), schema.Header)


def test_headers_of_other_things_than_a_reading_are_what_the_schema_says(tiny_llama):
    attributed = hs.attribute(tiny_llama, PAIR[0])
    one, two = (tiny_llama.read(PAIR[0]) for _ in range(2))
    shown = [
        hs.prediction_view(attributed),
        hs.prediction_view(attributed, reading=one),
        hs.matrix_view(one, other=two),
        hs.atlas_view(bundled_atlas()),
        hs.head_scatter(bundled_atlas()),
        hs.head_map({"mine": np.zeros((2, 3))}),
    ]
    for view in shown:
        msgspec.convert(json.loads(view.data.header_json()), schema.Header)


def test_the_page_has_the_types_that_the_models_give():
    made = subprocess.run(
        [sys.executable, str(WEB.parent / "generate_types.py"), "--check"], capture_output=True
    )
    assert made.returncode == 0, made.stderr.decode()


@given(st.fixed_dictionaries({}, optional={name: st.text(max_size=8) for name in ADDRESSED}))
@settings(max_examples=300, deadline=None)
def test_any_address_gives_a_state_of_the_reading_or_a_sentence(tiny_bert_reading, address):
    try:
        state = state_of(address, tiny_bert_reading)
    except BadInput:
        return
    shown = {name: value for name, value in state.items() if name in State.__struct_fields__}
    assert msgspec.convert(shown, State)


def test_an_address_says_what_the_page_wrote(tiny_bert_reading):
    address = {"kind": "encoder", "layer": "1", "heads": "0.3", "columns": "all", "wrap": "true"}
    address |= {"minimum": "0.25", "filter": "ab", "also": "1.2", "marked": "", "text": "ignored"}
    assert state_of(address, tiny_bert_reading) == {
        "kind": "encoder", "layer": 1, "heads": [0, 3], "columns": None, "wrap": True,
        "minimum": 0.25, "filter": "ab", "also": [1, 2], "marked": [],
    }  # fmt: skip
    for name, text in [("minimum", "nan"), ("layer", "²"), ("heads", "0.x"), ("filter", "ac")]:
        with pytest.raises(BadInput, match=name):
            state_of({name: text}, tiny_bert_reading)


def test_a_view_opens_on_the_best_label(tiny_bert):
    labels = {(0, 1): ("next word", 0.4), (1, 3): ("previous word", 0.9)}
    state = hs.head_view(tiny_bert.read(*PAIR), labels=labels).state
    assert (state["layer"], state["heads"]) == (1, [3])


def test_a_view_opens_on_what_was_asked_for(tiny_bert):
    state = hs.head_view(tiny_bert.read(*PAIR), layer=0, heads=[2, 3]).state
    assert (state["layer"], state["heads"]) == (0, [2, 3])


def test_without_labels_a_view_opens_on_the_sharpest_head_that_does_something():
    count = 8
    heads = np.full((1, 3, count, count), 1 / count, dtype=np.float32)
    heads[0, 0] = np.eye(count)  # itself: sharp, and dull
    heads[0, 2] = np.roll(np.eye(count), 1, axis=1) * 0.9 + 0.1 / count
    reading = hs.Reading.from_attention(heads, ["the", "cat", "sat", "on", "a", "red", "mat", "so"])
    assert hs.head_view(reading, labels=()).state["heads"] == [2]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"layer": 9}, "no layer 9"),
        ({"layer": 0, "heads": [4]}, "no head 4"),
        ({"query": 99}, "no query token 99"),
        ({"kind": "cross"}, "no cross attention"),
        ({"filter": "ac"}, "filter= is 'all'"),
        ({"colour": "red"}, "no option 'colour'"),
    ],
)
def test_misuse_gets_one_sentence(tiny_bert, options, said):
    with pytest.raises(BadInput, match=said):
        hs.head_view(tiny_bert.read(*PAIR), **options)


@pytest.mark.parametrize("name", ["size", "colour", "panels"])  # of other views
def test_only_the_options_of_its_own_view_are_taken(name):
    with pytest.raises(BadInput, match=f"The head view has no option '{name}'") as refused:
        checked({name: "8cm"}, "head")
    assert name not in str(refused.value).partition(";")[2]
    assert checked({"order": "label"}, "head") == {"order": "label"}


def test_a_reading_that_kept_nothing_says_what_to_keep(tiny_bert):
    with pytest.raises(BadInput, match="keep="):
        hs.model_view(tiny_bert.read("a cat", keep=("v",)))


def test_a_reading_of_q_and_k_alone_is_shown_like_one_with_weights(tiny_llama):
    whole = discover()["model"].build(tiny_llama.read(*PAIR))
    lean = discover()["model"].build(tiny_llama.read(*PAIR, keep=("q", "k")))
    assert whole.buffers["dt"] == lean.buffers["dt"]  # the thumbnails


def test_a_difference_needs_readings_of_equal_shape(tiny_bert):
    with pytest.raises(BadInput, match="equal shape"):
        hs.matrix_view(tiny_bert.read("a cat"), other=tiny_bert.read("a cat sat"))


def test_a_difference_carries_both_readings(tiny_bert):
    view = hs.matrix_view(tiny_bert.read("a cat"), other=tiny_bert.read("a dog"))
    assert view.state["reading"] == "difference"
    assert view.data.header["other"]["parts"][0]["query"]["text"][2] == "dog"


def test_a_thumbnail_keeps_the_largest_weight_of_each_bin():
    weights = np.zeros((1, 100, 60), dtype=np.float32)
    weights[0, 99, 59], weights[0, 0, 0] = 1.0, 0.5
    small = thumbnail(weights)
    assert small.shape == (1, 28, 28)
    assert (small[0, 27, 27], small[0, 0, 0], small.astype(int).sum()) == (255, 128, 383)


def test_labels_come_as_a_table_a_mapping_or_labels(tiny_bert):
    import pandas as pd

    rows = [
        {"kind": "encoder", "layer": 0, "head": 1, "pattern": "next_word", "label": "next word"},
        {"kind": "encoder", "layer": 0, "head": 1, "pattern": "sink", "label": "sink"},
    ]
    table = pd.DataFrame(rows).assign(score=[0.3, 0.8])
    assert as_labels(table, "encoder") == (Label(0, 1, "next word", 0.3),)  # a sink is no name
    assert as_labels({(0, 1): ("sink", 0.8)}, "encoder") == (Label(0, 1, "sink", 0.8),)
    with pytest.raises(BadInput, match="mapping"):
        as_labels(["sink"], "encoder")


def test_an_array_becomes_a_head_map():
    values = np.arange(6.0).reshape(2, 3)
    view = hs.head_map(values)
    (column,) = view.data.header["table"]["columns"]
    assert column["name"] == view.state["column"]
    with pytest.raises(BadInput):
        hs.head_map(np.zeros(3))


def test_a_survey_becomes_a_head_map():
    import pandas as pd

    rows = [
        {"kind": "decoder", "layer": layer, "head": head, "measure": name, "value": layer + head}
        for layer in range(2)
        for head in range(3)
        for name in ("entropy", "next_word")
    ]
    view = hs.head_map(pd.DataFrame(rows), "next_word")
    assert view.state["column"] == "next_word"
    assert [column["name"] for column in view.data.header["table"]["columns"]] == [
        "entropy",
        "next_word",
    ]
    written = io.BytesIO()
    save(view.figure(), written, "svg")
    assert written.getvalue().startswith(b"<?xml")
    with pytest.raises(BadInput, match="no column 'induction'"):
        hs.head_map(pd.DataFrame(rows), "induction")
    with pytest.raises(BadInput, match="a reading, a survey, or an array"):
        hs.head_map(42)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 400), st.integers(0, 10**6))
def test_packed_weights_are_off_by_half_a_step_at_most(size, seed):
    import zlib

    from headscope.views.wire.packing import WEIGHT_STEP, pack_weights

    weights = np.random.default_rng(seed).dirichlet(np.ones(size), size=(1, 2)).astype(np.float32)
    packed = pack_weights(weights)
    planes = np.frombuffer(zlib.decompress(packed.data, wbits=-15), np.uint8).reshape(2, -1)
    codes = planes[0] + 256 * planes[1].astype(int)
    assert np.abs(codes * WEIGHT_STEP - weights.ravel()).max() <= WEIGHT_STEP / 2 + 1e-7


@settings(max_examples=60, deadline=None)
@given(st.floats(-(2.0**60), 2.0**60, width=32, allow_subnormal=False), st.integers(6, 16))
def test_rounding_a_neuron_keeps_its_relative_error_below_the_last_bit(value, bits):
    from headscope.views.wire.packing import rounded

    got = float(rounded(np.array([value], np.float32), bits)[0])
    assert abs(got - value) <= abs(value) * 2.0 ** -(bits + 1) * 1.001 + 1e-44


def test_a_long_text_of_the_bundled_model_opens_on_a_head_labelled_over_a_corpus() -> None:
    reading = hs.load().read("The cat sat on the mat and looked at the dog. " * 14)
    labels = labels_for(reading)
    assert labels is not None
    assert {(2, 2), (2, 6)} <= set(zip(labels["layer"], labels["head"], strict=True))


@pytest.mark.parametrize("form", ["array", "tensor", "rows", "grid", "named"])
def test_a_head_map_shows_numbers_of_ones_own(form: str) -> None:
    import pandas as pd
    import torch

    from headscope.views.shared.numbers import table_of

    numbers = np.arange(6.0).reshape(2, 3)
    heads = [(layer, head) for layer in range(2) for head in range(3)]
    rows = pd.DataFrame(heads, columns=["layer", "head"]).assign(mine=numbers.ravel())
    source = {
        "array": numbers,
        "tensor": torch.from_numpy(numbers),
        "rows": rows.sample(frac=1, random_state=0),
        "grid": pd.DataFrame(numbers),
        "named": {"mine": numbers, "other": -numbers},
    }[form]
    table = table_of(source)
    np.testing.assert_array_equal(next(iter(table.columns.values())), numbers)
    assert hs.head_map(source).html()
