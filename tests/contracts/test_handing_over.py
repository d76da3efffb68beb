"""Whatever way a model is handed over, it is read exactly, or refused in one sentence.

The truth is the plain model in evaluation mode, run eagerly with `output_attentions=True` on a
pair of sentences, so that lost token types show.
"""

from __future__ import annotations

import copy
import importlib.util
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import headscope as hs
from headscope.errors import BadInput, HeadscopeError
from tests.tiny import tiny_model, tiny_tokenizer

FIRST, SECOND = "the cat sat on the mat .", "he said that it was red"


def needs(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"the package {package} is not installed")


def truth(
    model: Any, tokenizer: Any = None, texts: tuple[str, ...] = (FIRST, SECOND)
) -> np.ndarray:
    """layers heads queries keys of the bare model, by transformers' own eager code."""
    tokenizer = tokenizer or tiny_tokenizer()
    bare = copy.deepcopy(model).eval()
    bare.set_attn_implementation("eager")
    taken = inspect.signature(bare.forward).parameters
    given = tokenizer(*texts, return_tensors="pt")
    inputs = {name: value for name, value in given.items() if name in taken}
    with torch.no_grad():
        found = bare(**inputs, output_attentions=True).attentions
    return torch.stack(found)[:, 0].float().numpy()


def assert_read_as(
    scope: hs.Scope,
    expected: np.ndarray,
    atol: float = 2e-6,
    texts: tuple[str, ...] = (FIRST, SECOND),
) -> None:
    found = scope.read(*texts)
    np.testing.assert_allclose(found.attention, expected, atol=atol)
    np.testing.assert_allclose(found.attention.sum("key"), 1, atol=max(atol, 1e-5))


def lora(model: Any) -> Any:
    needs("peft")
    from peft import LoraConfig, get_peft_model

    adapted = get_peft_model(model, LoraConfig(target_modules="all-linear"))
    for name, parameter in adapted.named_parameters():
        if "lora_B" in name:  # zero at first, and then the adapter changes nothing
            nn.init.normal_(parameter, std=0.3)
    return adapted


def in_training(model: Any) -> Any:
    return model.train()


def compiled(model: Any) -> Any:
    return torch.compile(model)


def compiled_in_place(model: Any) -> Any:
    model.compile()
    return model


def data_parallel(model: Any) -> Any:
    return nn.DataParallel(model)


def checkpointing(model: Any) -> Any:
    model.gradient_checkpointing_enable()
    return model.train()


def prepared(model: Any) -> Any:
    needs("accelerate")
    from accelerate import Accelerator

    return Accelerator(cpu=True).prepare(model)


def everything_at_once(model: Any) -> Any:
    return nn.DataParallel(torch.compile(lora(model).train()))


def merged_lora(model: Any) -> Any:
    return lora(model).merge_and_unload()


def deep_copy(model: Any) -> Any:
    return copy.deepcopy(model)


OBJECTS: list[Callable[[Any], Any]] = [
    in_training,
    compiled,
    compiled_in_place,
    data_parallel,
    checkpointing,
    prepared,
    lora,
    merged_lora,
    everything_at_once,
    deep_copy,
]


OTHERS = [
    "BertModel", "BertForSequenceClassification", "RobertaForMaskedLM", "ElectraModel",
    "AlbertModel", "DistilBertModel", "MPNetModel", "GPT2LMHeadModel", "GPTNeoXForCausalLM",
    "LlamaForCausalLM", "OPTForCausalLM",
]  # fmt: skip


@pytest.mark.parametrize(
    "family", ["BertForMaskedLM", *(pytest.param(one, marks=pytest.mark.slow) for one in OTHERS)]
)
@pytest.mark.parametrize("way", OBJECTS, ids=lambda way: way.__name__)
def test_a_model_handed_over_as_an_object_is_read_exactly(
    way: Callable[[Any], Any], family: str
) -> None:
    if way is checkpointing and family in ("AlbertModel", "MPNetModel"):
        pytest.skip("has no gradient checkpointing")
    texts = (FIRST, SECOND) if family == "BertForMaskedLM" else (FIRST,)
    given = way(tiny_model(family))
    bare = hs.load(given, tiny_tokenizer()).model
    modes = [module.training for module in given.modules()]
    expected = truth(bare, texts=texts)
    assert_read_as(hs.load(given, tiny_tokenizer()), expected, texts=texts)
    assert [module.training for module in given.modules()] == modes


def test_a_pipeline_brings_its_tokenizer() -> None:
    from transformers import pipeline

    model = tiny_model("BertForMaskedLM")
    given = pipeline("fill-mask", model=model, tokenizer=tiny_tokenizer())
    assert_read_as(hs.load(given), truth(model))


def test_a_sentence_transformer_is_read(tmp_path: Path) -> None:
    needs("sentence_transformers")
    from sentence_transformers import SentenceTransformer

    tiny_model("BertModel").save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    given = SentenceTransformer(str(tmp_path), device="cpu")
    assert_read_as(hs.load(given), truth(tiny_model("BertModel")))


def test_a_prompt_tuned_model_is_refused_in_a_sentence() -> None:
    needs("peft")
    from peft import PromptTuningConfig, get_peft_model

    given = get_peft_model(
        tiny_model("GPT2LMHeadModel"),
        PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=2),
    )
    with pytest.raises(BadInput, match="learned positions before the text"):
        hs.load(given, tiny_tokenizer())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_other_precisions_are_read_as_they_run(dtype: torch.dtype) -> None:
    model = tiny_model("BertForMaskedLM").to(dtype)
    assert_read_as(hs.load(model, tiny_tokenizer()), truth(model), atol=1e-2)


# folders


def saved(path: Path, *, tokenizer: bool = True, **options: Any) -> Any:
    model = tiny_model("BertForMaskedLM")
    model.save_pretrained(path, **options)
    if tokenizer:
        tiny_tokenizer().save_pretrained(path)
    return model


def test_an_adapter_folder_is_opened_with_its_base_model(tmp_path: Path) -> None:
    needs("peft")
    from transformers import BertForMaskedLM

    saved(tmp_path / "base")
    adapted = lora(BertForMaskedLM.from_pretrained(tmp_path / "base"))
    adapted.save_pretrained(tmp_path / "adapter")
    expected = truth(adapted.get_base_model())
    assert_read_as(hs.load(tmp_path / "adapter"), expected)
    assert np.abs(expected - truth(tiny_model("BertForMaskedLM"))).max() > 1e-3


def test_sharded_renamed_and_linked_folders_are_the_same_model(tmp_path: Path) -> None:
    model = saved(tmp_path / "sharded", max_shard_size="40KB")
    assert len(list((tmp_path / "sharded").glob("*.safetensors"))) > 1
    expected = truth(model)
    assert_read_as(hs.load(tmp_path / "sharded"), expected)
    (tmp_path / "sharded").rename(tmp_path / "another name")
    (tmp_path / "link").symlink_to(tmp_path / "another name")
    assert_read_as(hs.load(tmp_path / "another name"), expected)
    assert_read_as(hs.load(tmp_path / "link"), expected)


FAMILIES = {
    "BertForMaskedLM": "vocab.txt",
    "RobertaForMaskedLM": "vocab.json",
    "GPT2LMHeadModel": "vocab.json",
    "MPNetForMaskedLM": "vocab.txt",
    "T5ForConditionalGeneration": "spiece.model",
}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_folder_without_tokenizer_files_is_refused_with_the_file_to_add(
    family: str, tmp_path: Path
) -> None:
    tiny_model(family).save_pretrained(tmp_path / "checkpoint-500")
    with pytest.raises(BadInput, match=r"has no tokenizer: add tokenizer\.json") as refused:
        hs.load(tmp_path / "checkpoint-500")
    assert FAMILIES[family] in str(refused.value)


def test_a_tokenizer_can_come_from_another_folder(tmp_path: Path) -> None:
    model = saved(tmp_path / "checkpoint-500", tokenizer=False)
    tiny_tokenizer().save_pretrained(tmp_path / "words")
    assert_read_as(hs.load(tmp_path / "checkpoint-500", tmp_path / "words"), truth(model))
    assert_read_as(hs.load(model, str(tmp_path / "words")), truth(model))
    with pytest.raises(BadInput, match="There is no tokenizer"):
        hs.load(model, str(tmp_path / "checkpoint-500"))
    with pytest.raises(BadInput, match="holds no model"):
        hs.load(tmp_path / "words")


def test_a_slow_tokenizer_gives_the_same_reading(tmp_path: Path) -> None:
    from transformers import BertTokenizerLegacy

    model = tiny_model("BertForMaskedLM")
    words = sorted(tiny_tokenizer().get_vocab().items(), key=lambda item: item[1])
    (tmp_path / "vocab.txt").write_text("\n".join(word for word, _ in words))
    slow = BertTokenizerLegacy(str(tmp_path / "vocab.txt"))
    assert not slow.is_fast
    assert_read_as(hs.load(model, slow), truth(model, slow))


def test_a_tokenizer_with_fewer_words_than_the_model_is_read() -> None:
    model = tiny_model("BertForMaskedLM")
    model.resize_token_embeddings(80)
    assert_read_as(hs.load(model, tiny_tokenizer()), truth(model))


def test_a_model_without_values_is_refused() -> None:
    with torch.device("meta"):
        model = type(tiny_model("BertForMaskedLM"))(tiny_model("BertForMaskedLM").config)
    with pytest.raises(BadInput, match="are not loaded"):
        hs.load(model, tiny_tokenizer())


def test_dynamically_quantised_models_are_read() -> None:
    given = torch.ao.quantization.quantize_dynamic(
        tiny_model("BertForMaskedLM"), {nn.Linear}, dtype=torch.qint8
    )
    scope = hs.load(given, tiny_tokenizer())
    with torch.no_grad():
        given.set_attn_implementation("eager")
        inputs = tiny_tokenizer()(FIRST, SECOND, return_tensors="pt")
        expected = torch.stack(given(**inputs, output_attentions=True).attentions)[:, 0].numpy()
    assert_read_as(scope, expected)


def test_tied_weights_are_not_missing(tmp_path: Path) -> None:
    model = tiny_model("GPT2LMHeadModel")
    assert model.lm_head.weight is model.transformer.wte.weight  # the file holds them once
    model.save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    scope = hs.load(tmp_path)
    assert scope.warnings == ()
    assert scope.next_token("the cat")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_statistics_of_half_precision_are_not_rounded_to_it(dtype: torch.dtype) -> None:
    """The maps are those of the model; what is made of them is as exact as in single precision."""
    scope = hs.load(tiny_model("BertForMaskedLM").to(dtype), tiny_tokenizer())
    maps = np.asarray(scope.read(FIRST).attention, dtype=np.float64)
    entropy = -(maps * np.log(np.maximum(maps, 1e-30))).sum(-1).mean(-1)
    found = hs.survey(scope, [FIRST], ["entropy"], progress=False).map("entropy")
    # a map rounded by half a step of its precision moves its entropy by (entropy + 1) of that
    np.testing.assert_allclose(found, entropy, atol=4 * torch.finfo(dtype).eps / 2)
    assert np.asarray(found).dtype == np.float64


def test_weights_missing_from_a_folder_are_refused_by_name(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    saved(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    kept = {name: tensor for name, tensor in weights.items() if "encoder.layer.1." not in name}
    save_file(kept, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(HeadscopeError, match=r"lacks 16 of the model's weights \(bert\.encoder"):
        hs.load(tmp_path)


def test_an_output_layer_that_was_never_trained_is_not_asked(tmp_path: Path) -> None:
    tiny_model("MPNetModel").save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    file = tmp_path / "config.json"
    file.write_text(file.read_text().replace('"MPNetModel"', '"MPNetForMaskedLM"'))
    scope = hs.load(tmp_path)
    from headscope.patterns.leave_two_out import helpfulness
    from headscope.tasks.fitting import fitting
    from headscope.tasks.task import Task

    asked = {
        "fill": lambda: scope.fill("the [MASK] sat"),
        "predictive": lambda: helpfulness(scope, "the cat sat"),
        "gradients": lambda: hs.survey(scope, ["the cat sat"] * 2, ["gradient_sep"]),
        "masked loss": lambda: fitting(
            scope, Task("own", "masked", ("the cat",), None, np.zeros(1), (), "loss")
        ),
    }
    for ask in asked.values():
        with pytest.raises(BadInput, match=r"output layer of .* was not trained.*lm_head"):
            ask()
    assert scope.read("the cat sat").attention.shape[0] == 2


def test_things_that_are_no_models_or_tokenizers_are_refused() -> None:
    for given in (3, object(), {"model": 1}, nn.Linear(2, 2), b"folder"):
        with pytest.raises(BadInput, match="is not a transformers model"):
            hs.load(given, tiny_tokenizer())
    with pytest.raises(BadInput, match="is not a transformers tokenizer"):
        hs.load(tiny_model("BertModel"), 3)
