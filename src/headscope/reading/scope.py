"""A scope: a model and its tokenizer, ready for reading."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from headscope.arguments import is_empty
from headscope.capture import Kind, Sink
from headscope.checked import checked_methods
from headscope.errors import BadInput
from headscope.models.limits import embedded_tokens
from headscope.models.limits import max_tokens as most_tokens
from headscope.models.placement import device_of
from headscope.reading.describe import Description, describe, image_token, trials
from headscope.reading.passes import Edit, Run, captured, passes
from headscope.reading.reading import Reading
from headscope.text.chat import Span
from headscope.text.tokenise import Batch, Text, need_one_text, split_pairs, tokenise
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    import xarray as xr

    from headscope.reading.collecting.keeping import WhatToKeep
    from headscope.reading.inputs.conversation import Documents, Messages
    from headscope.reading.predict import Prediction


@checked_methods
@dataclass(frozen=True, eq=False)
class Scope:
    """A model, its tokenizer, and the edits under which it runs."""

    model: Any
    tokenizer: Any
    name: str
    edits: tuple[Edit, ...] = ()
    processor: Any = None  # for pictures and sounds; None: the one in the model's folder
    shared: dict[str, Any] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        """One line: the network itself would fill a screen."""
        sizes = ", ".join(
            f"{len(self.layer_numbers[kind])} {kind} layers × {self.heads[kind]} heads"
            for kind in (self.kinds if "description" in self.shared else ())
        )
        parts = [f"<Scope of {self.name}: {type(self.model).__name__}", sizes, str(self.device)]
        edits = f", {len(self.edits)} edits" if self.edits else ""
        return ", ".join(part for part in parts if part) + f"{edits}>"

    # what the model is

    @property
    def description(self) -> Description:
        if "description" not in self.shared:  # edited copies share cached results
            self.shared["description"] = describe(self.model, self._with_picture())
        return self.shared["description"]

    @property
    def trials(self) -> list[Mapping[str, Tensor]]:
        """The smallest inputs the model runs on, separately for each tower."""
        given = self._with_picture()
        return trials(self.model) if given is None else [given]

    def _with_picture(self) -> Mapping[str, Tensor] | None:
        """A text with a picture in it, for models that read both together."""
        if self.tokenizer is None or image_token(self.model.config) is None:
            return None
        from headscope.reading.inputs.picture_text import trial_with_picture

        return trial_with_picture(self)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return self.description.kinds

    @property
    def layers(self) -> dict[Kind, int]:
        return self.description.layers

    @property
    def layer_numbers(self) -> dict[Kind, tuple[int, ...]]:
        """The layers that attend, as the model numbers them; hybrid models leave some out."""
        return self.description.layer_numbers

    @property
    def heads(self) -> dict[Kind, int]:
        return self.description.heads

    @property
    def causal(self) -> bool:
        return self.description.causal

    @property
    def read_at(self) -> str:
        """Where attention is read: the registered function, the softmax, or a family's file."""
        return self.description.read_at

    @property
    def encoder_decoder(self) -> bool:
        return bool(getattr(self.model.config, "is_encoder_decoder", False))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the model, one sentence each; a reading may have more."""
        from headscope.reading.checks import model_warnings

        return tuple(model_warnings(self))

    @cached_property
    def max_tokens(self) -> int | None:
        """How many tokens the model reads; None without a limit."""
        return most_tokens(self.model, self.tokenizer)

    @property
    def device(self) -> torch.device:
        return device_of(self.model)

    # running it

    def encode(
        self,
        texts: Sequence[Text],
        pairs: Sequence[Text | None] | None = None,
        *,
        truncate: bool = False,
        max_tokens: int | None = None,
        add_special_tokens: bool = True,
    ) -> Batch:
        """Texts (strings, or lists of words) as one padded batch on the model's device."""
        if self.tokenizer is None:
            raise BadInput(
                f"{self.name} has no tokenizer; load the model with one, or use scope.read_inputs."
            )
        texts, pairs = split_pairs(texts, pairs)
        limits = [limit for limit in (max_tokens, self.max_tokens) if limit is not None]
        batch = tokenise(
            self.tokenizer,
            texts,
            pairs,
            max_tokens=min(limits, default=None),
            truncate=truncate,
            add_special_tokens=add_special_tokens,
        )
        rows = embedded_tokens(self.model)
        if rows is not None and int(batch.inputs["input_ids"].max()) >= rows:
            raise BadInput(
                f"The tokenizer gives token {int(batch.inputs['input_ids'].max())} but the model "
                f"embeds only {rows:,}; load the tokenizer that was saved with this model."
            )
        return batch.to(self.device)

    def capture(
        self, sink: Sink, *, lazy: bool = False, scores: bool = False
    ) -> AbstractContextManager[object]:
        """Show calls to `sink` while the model runs, after this scope's edits."""
        return captured(self, sink, lazy, scores)

    def forward(
        self,
        inputs: Batch | Mapping[str, Tensor],
        sink: Sink | None = None,
        *,
        lazy: bool = False,
        scores: bool = False,
        gradients: bool = False,
        **options: Any,
    ) -> Any:
        """Run the model under this scope's edits; returns the model's own output."""
        with self.passes(sink, lazy=lazy, scores=scores, gradients=gradients) as run:
            return run(inputs, **options)

    def passes(
        self,
        sink: Sink | None = None,
        *,
        lazy: bool = False,
        scores: bool = False,
        gradients: bool = False,
    ) -> AbstractContextManager[Run]:
        """Run the model as `forward` does, any number of times, with capture set up once.

        Inputs on which the plain model fails too raise an input error; any other error is a bug.
        """
        return passes(self, sink, lazy=lazy, scores=scores, gradients=gradients)

    def accepts(self, name: str) -> bool:
        """Whether the model takes an input of that name."""
        import inspect

        if "parameters" not in self.shared:
            # the class's own, because accelerate and others replace the object's function
            forward = inspect.signature(type(self.model).forward)
            self.shared["parameters"] = set(forward.parameters)
        return name in self.shared["parameters"]

    def accepted(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The accepted inputs: tokenizers give token types to models with none or only one."""
        if self.accepts("token_type_ids") and not self.knows_one_type:
            return dict(tensors)
        return {name: tensor for name, tensor in tensors.items() if name != "token_type_ids"}

    @property
    def knows_one_type(self) -> bool:
        """Whether the model has a single vector for token types, like RoBERTa."""
        return getattr(self.model.config, "type_vocab_size", None) == 1

    # readings

    def read(
        self,
        text: Text | None = None,
        text_pair: Text | None = None,
        *,
        target: Text | None = None,
        image: Any = None,
        audio: Any = None,
        sampling_rate: int | None = None,
        messages: Messages | None = None,
        documents: Documents = (),
        answer: str | None = None,
        layers: Collection[int] | None = None,
        keep: WhatToKeep = "auto",
        memory: str | int | None = None,
        truncate: bool = False,
    ) -> Reading:
        """Read one text, or two sentences, and keep the model's attention.

        A text may be a list of words; a tuple of two texts is a pair. For encoder–decoder models
        `target` (or the second sentence) is what the decoder reads. A long text keeps q and k, and
        its weights are computed on use; `keep` names what is kept instead ("weights", "q", "k",
        "v"). A reading larger than `memory` ("2GB"; by default half of what is free) raises an
        error before it starts.

        `image` is a picture (a path, a PIL image, an array; several as a list), alone or with a
        text about it; `audio` a sound (a path, or samples with their `sampling_rate`), with what
        the decoder reads where the model has one.

        `messages` is a conversation (`{"role": …, "content": …}`, or one question), with
        `documents` to answer from and the `answer` that followed. The model's chat template lays
        them out, and the reading keeps them as `spans`.
        """
        if messages is not None:
            from headscope.reading.arguments import check_no_text
            from headscope.reading.inputs.conversation import conversation_reading

            check_no_text(text=text, text_pair=text_pair, target=target, image=image, audio=audio)
            if truncate:
                raise BadInput("Conversations are never truncated; leave truncate out.")
            return conversation_reading(self, messages, documents, answer, layers, keep, memory)
        if answer is not None or not is_empty(documents):
            raise BadInput("Documents and an answer belong to messages; pass messages=… too.")
        if image is not None or audio is not None:
            from headscope.reading.arguments import check_alone, check_layers
            from headscope.reading.inputs.processors import Asked

            beside = check_alone(text, text_pair, target, image, audio)
            check_layers(self, layers)
            asked = Asked.of(keep, memory, layers)
            if audio is not None:
                from headscope.reading.inputs.sounds import sound_reading

                return sound_reading(self, audio, sampling_rate, beside, asked)
            from headscope.reading.inputs.pictures import picture_reading

            return picture_reading(self, image, beside, asked)
        if text is None:
            raise BadInput("Give a text, or a picture with image=…, or a sound with audio=….")
        need_one_text(text)
        return self.read_batch(
            [text],
            [text_pair],
            targets=[target],
            layers=layers,
            keep=keep,
            memory=memory,
            truncate=truncate,
        )[0]

    def read_batch(
        self,
        texts: Sequence[Text],
        pairs: Sequence[Text | None] | None = None,
        *,
        targets: Sequence[Text | None] | None = None,
        layers: Collection[int] | None = None,
        keep: WhatToKeep = "auto",
        memory: str | int | None = None,
        truncate: bool = False,
    ) -> list[Reading]:
        """Read several texts at once; readings never contain padding."""
        from headscope.reading.collecting.run import read_texts

        texts, pairs = split_pairs(texts, pairs)
        if not texts:
            return []
        return read_texts(self, texts, pairs, targets, layers, keep, memory, truncate)

    def read_inputs(
        self,
        inputs: Mapping[str, Tensor],
        tokens: Sequence[str] | Tokens | None = None,
        *,
        layers: Collection[int] | None = None,
        keep: WhatToKeep = "auto",
        memory: str | int | None = None,
    ) -> Reading:
        """Read any inputs of one example the model takes (pictures, sound, embeddings)."""
        from headscope.reading.inputs.texts import inputs_reading

        return inputs_reading(self, inputs, tokens, layers, keep, memory)

    def generate(
        self,
        prompt: str | None = None,
        max_new_tokens: int = 20,
        *,
        messages: Messages | None = None,
        documents: Documents = (),
        keep: WhatToKeep = "auto",
        memory: str | int | None = None,
        **options: Any,
    ) -> Reading:
        """Let the model continue a text, and read the whole text with the new tokens.

        With `messages` and `documents` it answers a conversation, and the reading has `spans`.
        """
        if messages is not None:
            from headscope.reading.arguments import check_no_text
            from headscope.reading.inputs.conversation import generated_conversation

            check_no_text(prompt=prompt)
            return generated_conversation(
                self, messages, documents, max_new_tokens, keep, memory, options
            )
        if prompt is None or not is_empty(documents):
            raise BadInput("Give a prompt, or a conversation with messages=….")
        from headscope.reading.inputs.generation import generated_reading

        return generated_reading(self, prompt, max_new_tokens, keep, memory, options)

    def activations(self, text: Text | list[Text], names: Iterable[str]) -> xr.Dataset:
        """Activations by name, from one pass under this scope's edits.

        Parameters
        ----------
        text
            One text, or a list of texts, which get an axis `text`; padding is NaN.
        names
            The names, such as ["stream.after", "attention.heads.3"]: with a number one layer's,
            else every layer's, with an axis `layer`.

        Returns
        -------
        xarray.Dataset
            A variable for each name, in float32.

        Examples
        --------
        >>> import headscope as hs
        >>> found = hs.load().activations("I went home.", ["stream.after", "mlp.inner.2"])
        >>> found["mlp.inner.2"].dims
        ('token', 'inner')
        """
        from headscope.circuits.activations import read_activations
        from headscope.circuits.unrolled import unrolled

        return read_activations(unrolled(self), text, names)

    # predictions

    def fill(self, text: Text, text_pair: Text | None = None, n: int = 5) -> list[list[Prediction]]:
        """For each mask token, the n likeliest words, best first."""
        from headscope.reading import predict

        return predict.fill(self, text, text_pair, n)

    def next_token(self, text: Text, n: int = 5) -> list[Prediction]:
        """The n likeliest next tokens, best first."""
        from headscope.reading import predict

        return predict.next_token(self, text, n)

    def next_sentence(self, text: Text, text_pair: Text) -> float:
        """The probability that the second sentence follows the first."""
        from headscope.reading import predict

        return predict.next_sentence(self, text, text_pair)

    # edits

    def edited(self, edit: Edit) -> Scope:
        """This scope with one more edit, applied after those it has."""
        if not callable(edit):
            raise BadInput("An edit is a function that takes a call and returns weights.")
        return dataclasses.replace(self, edits=(*self.edits, edit))

    def with_edits(self, name: str, function: Callable[..., Tensor | None]) -> Scope:
        """A scope that runs with an activation replaced.

        Parameters
        ----------
        name
            The activation, such as "mlp.output" for every layer or "mlp.output.3" for layer 3;
            docs/reference/activations.md has the names.
        function
            Takes the activation (and its layer, if it takes two arguments) and returns one of the
            same shape, or None for no change.

        Returns
        -------
        Scope
            Reading, generating, ablating and patching with it all use the edit.

        Examples
        --------
        >>> import headscope as hs
        >>> scope = hs.load().with_edits("mlp.output.2", lambda written: 0 * written)
        >>> len(scope.edits)
        1
        """
        from headscope.circuits.activations import named_edit
        from headscope.circuits.unrolled import unrolled

        scope = unrolled(self)
        return scope.edited(named_edit(scope, name, function))

    def without(
        self,
        heads: Iterable[tuple[int, int]] | None = None,
        layers: Iterable[int] | None = None,
        *,
        mode: str = "uniform",
        kind: Kind | None = None,
        weights: object = None,
    ) -> Scope:
        """A scope with those heads, given as (layer, head), or whole layers disabled.

        Parameters
        ----------
        heads
            Heads as (layer, head).
        layers
            Layers of which all heads are disabled.
        mode
            What heads do instead. They attend differently: uniform, zero, mean (their mean map) or
            given; streaming keeps the first tokens and the latest, weight sets some weights by
            hand. Or, with mean_output, they always give their mean output.
        kind
            The attention to disable; the model's own if it has one kind.
        weights
            What the mode needs: maps for given, readings for mean, (sink, window) for streaming,
            ((query, key, weight), …) for weight, texts or their means for mean_output.

        Returns
        -------
        Scope
        """
        from headscope.edits.disable import disable

        if mode == "mean_output":
            from headscope.circuits.activations import mean_outputs
            from headscope.circuits.unrolled import unrolled

            scope = unrolled(self)
            off = disable(scope, heads, layers, "zero", kind)
            return scope.edited(mean_outputs(scope, off, weights))
        return self.edited(disable(self, heads, layers, mode, kind, weights))

    def emphasise(
        self,
        span: str | Span | tuple[int, int],
        *,
        text: str | None = None,
        heads: Iterable[tuple[int, int]] | None = None,
        factor: float = 4.0,
        kind: Kind | None = None,
    ) -> Scope:
        """A scope whose chosen heads attend to a span more (or less).

        Parameters
        ----------
        span
            Words of the text, a span of a reading, or tokens as (start, stop).
        text
            The text that words or a named span are found in.
        heads
            Heads as (layer, head); all of them if left out.
        factor
            The factor of their weights on the span, before rows are scaled back to their sum. 1
            changes nothing.
        kind
            The kind of attention; the model's own if it has one kind.

        Returns
        -------
        Scope
            It reads and generates texts that begin as `text` does.

        Examples
        --------
        >>> import headscope as hs
        >>> text = "I went to the store."
        >>> hs.load().emphasise("store", text=text, heads=[(2, 0)], factor=5).read(text).model
        'bundled'
        """
        from headscope.edits.emphasise import emphasis_edit

        edit = emphasis_edit(self, span, text, heads, factor, kind)
        return self if edit is None else self.edited(edit)
