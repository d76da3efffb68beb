"""BERT for pre-training, written to train fast; the same function as `BertForPreTraining`.

Activations are kept as (tokens, hidden), whatever the length of the inputs, so one compiled
layer serves every length. Inputs are never padded, so attention needs no mask. `to_bert` gives
the weights under the names `transformers` knows; a test holds both to the same outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

EPSILON = 1e-12


@dataclass
class Shape:
    vocabulary: int
    layers: int = 12
    heads: int = 8
    hidden: int = 256
    inner: int = 1024
    positions: int = 512

    def to_bert(self) -> dict[str, Any]:
        """The arguments of `transformers.BertConfig`."""
        return {
            "vocab_size": self.vocabulary,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "hidden_size": self.hidden,
            "intermediate_size": self.inner,
            "max_position_embeddings": self.positions,
            "hidden_dropout_prob": 0.0,
            "attention_probs_dropout_prob": 0.0,
        }

    asdict = asdict


def _norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return functional.layer_norm(x.float(), x.shape[-1:], weight, bias, EPSILON).to(x.dtype)


def _linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return functional.linear(x, weight.to(x.dtype), bias.to(x.dtype))


def _after_attention(x: Tensor, context: Tensor, dropout: float, *w: Tensor) -> Tensor:
    """What a layer does once attention has gathered its context. x, context: n c."""
    out, out_b, norm1, norm1_b, up, up_b, down, down_b, norm2, norm2_b = w
    mixed = _linear(context, out, out_b)
    if dropout:
        mixed = functional.dropout(mixed, dropout)
    x = _norm(x + mixed, norm1, norm1_b)
    inner = _linear(functional.gelu(_linear(x, up, up_b)), down, down_b)
    if dropout:
        inner = functional.dropout(inner, dropout)
    return _norm(x + inner, norm2, norm2_b)


def _word_loss(x: Tensor, truth: Tensor, *w: Tensor) -> Tensor:
    """Mean cross-entropy over the vocabulary at the chosen positions only. x: m c."""
    return functional.cross_entropy(_word_logits(x, *w).float(), truth)


def _word_logits(x: Tensor, *w: Tensor) -> Tensor:
    dense, dense_b, norm, norm_b, words, words_b = w
    return _linear(_norm(functional.gelu(_linear(x, dense, dense_b)), norm, norm_b), words, words_b)


class Layer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.project = nn.Linear(shape.hidden, 3 * shape.hidden)  # q, k and v in one product
        self.out = nn.Linear(shape.hidden, shape.hidden)
        self.norm1 = nn.LayerNorm(shape.hidden)
        self.up = nn.Linear(shape.hidden, shape.inner)
        self.down = nn.Linear(shape.inner, shape.hidden)
        self.norm2 = nn.LayerNorm(shape.hidden)

    def weights(self) -> tuple[Tensor, ...]:
        parts = (self.out, self.norm1, self.up, self.down, self.norm2)
        return tuple(t for part in parts for t in (part.weight, part.bias))


class Encoder(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.words = nn.Embedding(shape.vocabulary, shape.hidden)
        self.positions = nn.Embedding(shape.positions, shape.hidden)
        self.segments = nn.Embedding(2, shape.hidden)
        self.norm = nn.LayerNorm(shape.hidden)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.pooler = nn.Linear(shape.hidden, shape.hidden)
        self.follows = nn.Linear(shape.hidden, 2)
        self.dense = nn.Linear(shape.hidden, shape.hidden)
        self.dense_norm = nn.LayerNorm(shape.hidden)
        self.words_bias = nn.Parameter(torch.zeros(shape.vocabulary))
        self.dtype = torch.float32  # of the activations; weights stay float32
        self.dropout = 0.0
        self.attention_dropout = 0.0
        self._after_attention: Callable[..., Tensor] = _after_attention
        self._word_loss: Callable[..., Tensor] = _word_loss
        for name, parameter in self.named_parameters():  # as BERT: normal(0, 0.02)
            if parameter.ndim == 2:
                nn.init.normal_(parameter, std=0.02)
            elif "norm" not in name:
                nn.init.zeros_(parameter)

    def compile_parts(self, mode: str) -> None:
        self._after_attention = torch.compile(_after_attention, mode=mode, dynamic=False)
        self._word_loss = torch.compile(_word_loss, mode=mode, dynamic=False)

    def encode(
        self, tokens: Tensor, segments: Tensor, look: Callable[[int, Tensor], None] | None = None
    ) -> Tensor:
        """Hidden states, b t c. `look` is shown every layer's attention, b h q k, in float32."""
        batch, length = tokens.shape
        heads, hidden = self.shape.heads, self.shape.hidden
        place = self.positions.weight[:length]
        first, second = self.segments.weight
        # two segments: a product's gradient is a plain sum, an embedding's is a sort
        segment = first + segments[..., None] * (second - first)
        x = functional.embedding(tokens, self.words.weight) + place + segment
        x = _norm(x, self.norm.weight, self.norm.bias).to(self.dtype).view(-1, hidden)
        dropout = self.dropout if self.training else 0.0
        # compiled code is for the one shape of training; surveys come in many shapes
        after = self._after_attention if self.training else _after_attention
        for number, layer in enumerate(self.layers):
            assert isinstance(layer, Layer)
            qkv = _linear(x, layer.project.weight, layer.project.bias)
            q, k, v = qkv.view(batch, length, 3, heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
            if look is None:
                drop = self.attention_dropout if self.training else 0.0
                context = functional.scaled_dot_product_attention(q, k, v, dropout_p=drop)
            else:
                scores = q.float() @ k.float().transpose(-1, -2) * q.shape[-1] ** -0.5
                weights = scores.softmax(-1)
                look(number, weights)
                context = weights.to(v.dtype) @ v
            context = context.transpose(1, 2).reshape(-1, hidden)
            x = after(x, context, dropout, *layer.weights())
        return x.view(batch, length, hidden)

    def _word_weights(self) -> tuple[Tensor, ...]:
        dense, norm = self.dense, self.dense_norm
        return (
            dense.weight,
            dense.bias,
            norm.weight,
            norm.bias,
            self.words.weight,
            self.words_bias,
        )

    def word_logits(self, x: Tensor, chosen: Tensor) -> Tensor:
        """Scores over the vocabulary at the chosen positions (b m): (b·m) v."""
        return _word_logits(_take(x, chosen), *self._word_weights())

    def word_loss(self, x: Tensor, chosen: Tensor, truth: Tensor) -> Tensor:
        return self._word_loss(_take(x, chosen), truth.flatten(), *self._word_weights())

    def next_logits(self, x: Tensor) -> Tensor:
        """b 2: follows, or is random."""
        pooled = torch.tanh(_linear(x[:, 0], self.pooler.weight, self.pooler.bias))
        return _linear(pooled, self.follows.weight, self.follows.bias).float()

    def to_bert(self) -> dict[str, Tensor]:
        """The same weights under the names of `BertForPreTraining`."""
        found: dict[str, Tensor] = {
            "bert.embeddings.word_embeddings.weight": self.words.weight,
            "bert.embeddings.position_embeddings.weight": self.positions.weight,
            "bert.embeddings.token_type_embeddings.weight": self.segments.weight,
            "cls.predictions.bias": self.words_bias,
        }
        modules: dict[str, nn.Linear | nn.LayerNorm] = {
            "bert.embeddings.LayerNorm": self.norm,
            "bert.pooler.dense": self.pooler,
            "cls.predictions.transform.dense": self.dense,
            "cls.predictions.transform.LayerNorm": self.dense_norm,
            "cls.seq_relationship": self.follows,
        }
        for number, layer in enumerate(self.layers):
            assert isinstance(layer, Layer)
            stem = f"bert.encoder.layer.{number}"
            weights, biases = layer.project.weight.chunk(3), layer.project.bias.chunk(3)
            for role, weight, bias in zip(("query", "key", "value"), weights, biases, strict=True):
                found[f"{stem}.attention.self.{role}.weight"] = weight
                found[f"{stem}.attention.self.{role}.bias"] = bias
            modules[f"{stem}.attention.output.dense"] = layer.out
            modules[f"{stem}.attention.output.LayerNorm"] = layer.norm1
            modules[f"{stem}.intermediate.dense"] = layer.up
            modules[f"{stem}.output.dense"] = layer.down
            modules[f"{stem}.output.LayerNorm"] = layer.norm2
        for name, module in modules.items():
            found[f"{name}.weight"], found[f"{name}.bias"] = module.weight, module.bias
        return {name: tensor.detach() for name, tensor in found.items()}

    @torch.no_grad()
    def from_bert(self, weights: dict[str, Tensor]) -> None:
        """Take over weights saved by `to_bert` (any precision)."""
        for name, own in self.to_bert().items():  # views of the parameters, so copying reaches them
            own.copy_(weights[name])


def _take(x: Tensor, chosen: Tensor) -> Tensor:
    return x.gather(1, chosen[..., None].expand(-1, -1, x.shape[-1])).flatten(0, 1)
