"""Models with known answers: heads that copy, suppress, and feed each other, set by hand."""

from __future__ import annotations

import copy
from typing import Any

import torch
from tokenizers import processors
from transformers import LlamaConfig, LlamaForCausalLM

import headscope as hs
from tests.tiny import VOCABULARY, tiny_tokenizer

WIDTH = VOCABULARY  # token directions alone: as many as there are tokens


def copying_model(signs: tuple[float, ...] = (1.0, -1.0), size: int = WIDTH) -> Any:
    """One layer; head h moves ± the token it looks at straight to its own logit."""
    heads = len(signs)
    config = LlamaConfig(
        vocab_size=size,
        hidden_size=size,
        num_hidden_layers=1,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        head_dim=size,
        intermediate_size=8,
        tie_word_embeddings=False,
    )
    model = LlamaForCausalLM(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.zero_()
        model.model.embed_tokens.weight.copy_(torch.eye(size))
        model.lm_head.weight.copy_(torch.eye(size))
        attention = model.model.layers[0].self_attn
        for head, sign in enumerate(signs):
            own = slice(head * size, (head + 1) * size)
            attention.v_proj.weight[own] = torch.eye(size)
            attention.o_proj.weight[:, own] = sign * torch.eye(size)
    return model


def induction_model() -> Any:
    """Two layers: head 0-0 brings along the token before, head 1-0 looks for its own token there.

    The stream has a block for the token, one for the token before it, one for positions, and one
    that the output layer reads. Head 0-1 and 1-1 do nothing. What follows an earlier [a] b … [a]
    is b.
    """
    n, places = VOCABULARY, 32
    width = 3 * n + places  # token | token before | answer | position
    head = max(width // 2, n)
    config = _wide(width, head, places)
    model = GPTLike(config)
    with torch.no_grad():
        _fill_induction(model, n, places)
    return model.model


class GPTLike:
    """GPT-2 with norms that change nothing, so that what is set by hand is what is computed."""

    def __init__(self, config: Any) -> None:
        from transformers import GPT2LMHeadModel

        self.model: Any = GPT2LMHeadModel(config).eval()
        for module in list(self.model.modules()):
            for name, child in list(module.named_children()):
                if isinstance(child, torch.nn.LayerNorm):
                    setattr(module, name, Unchanged())
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter.zero_()


class Unchanged(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


def _wide(width: int, head: int, places: int) -> Any:
    from transformers import GPT2Config

    return GPT2Config(
        vocab_size=VOCABULARY,
        n_embd=2 * head,
        n_layer=2,
        n_head=2,
        n_positions=places,
        n_inner=4,
        tie_word_embeddings=False,
    )


def _fill_induction(built: GPTLike, n: int, places: int) -> None:
    model, sharp = built.model, 40.0
    body = model.transformer
    full = model.config.n_embd
    size = full // 2
    eye, scale = torch.eye(n), sharp * size**0.5
    token, before, answer, place = (0, n), (n, 2 * n), (2 * n, 3 * n), (3 * n, 3 * n + places)
    body.wte.weight[:, slice(*token)] = eye
    body.wpe.weight[:, slice(*place)] = torch.eye(places)
    model.lm_head.weight[:, slice(*answer)] = eye
    q, k, v = (slice(at * full, at * full + size) for at in range(3))  # of head 0
    first, second = body.h[0].attn, body.h[1].attn
    # head 0-0: position p asks for p − 1 and brings its token into the block "token before"
    first.c_attn.weight[slice(*place), q][1:, : places - 1] = scale * torch.eye(places - 1)
    first.c_attn.weight[slice(*place), k][:, :places] = torch.eye(places)
    first.c_attn.weight[slice(*token), v][:, :n] = eye
    first.c_proj.weight[:n, slice(*before)] = eye
    # head 1-0: the token asks for a place whose token before is itself, and writes what is there
    second.c_attn.weight[slice(*token), q][:, :n] = scale * eye
    second.c_attn.weight[slice(*before), k][:, :n] = eye
    second.c_attn.weight[slice(*token), v][:, :n] = eye
    second.c_proj.weight[:n, slice(*answer)] = 10 * eye


def task_scope(signs: tuple[float, ...], name: str) -> hs.Scope:
    """A copying model that knows every word of a ready task as one token."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    split = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()]
    )
    texts = [f"{p.clean} {p.answer} {p.wrong}" for p in hs.circuits.task(name, 200).pairs]
    words = {word for text in texts for word, _ in split.pre_tokenize_str(text)}
    known = {word: at for at, word in enumerate(["[UNK]", *sorted(words)])}
    tokenizer = Tokenizer(models.WordLevel(known, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = split
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]")
    return hs.load(copying_model(signs, len(known)), fast, name="built")


def built_scope(model: Any, name: str, *, bare: bool = False) -> hs.Scope:
    """With `bare` a prompt is its words alone, without [CLS] and [SEP]."""
    tokenizer = tiny_tokenizer()
    if bare:
        tokenizer = copy.deepcopy(tokenizer)
        tokenizer._tokenizer.post_processor = processors.Sequence([])
    return hs.load(model, tokenizer, name=name)
