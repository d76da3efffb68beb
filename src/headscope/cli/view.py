"""`headscope view`: one text, one picture, in any format."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from headscope.cli.shared import options
from headscope.cli.shared.checks import check_output
from headscope.cli.shared.console import open_scope, out, say_written
from headscope.cli.shared.conversation import MessagesFile, check_texts, conversation
from headscope.errors import BadInput
from headscope.front_door import view_functions

if TYPE_CHECKING:
    from headscope.reading import Reading


VIEWS = tuple(view_functions())


def register(app: typer.Typer) -> None:
    app.command("view")(view)


def view(
    text: Annotated[
        str | None, typer.Argument(help="The text, or the first of two sentences.")
    ] = None,
    text_pair: Annotated[
        str | None,
        typer.Argument(help="The second sentence; for encoder–decoder models the decoder's text."),
    ] = None,
    model: options.Model = None,
    image: Annotated[
        list[Path] | None,
        typer.Option(
            "--image",
            help="A picture (PNG, JPEG, WebP, …), for models that see; may be given several times, "
            "with a text about them where the model takes one.",
        ),
    ] = None,
    audio: Annotated[
        Path | None,
        typer.Option(
            "--audio",
            help="A sound (WAV, FLAC, …), for models that hear; the text, if any, is the "
            "transcript that the decoder reads.",
        ),
    ] = None,
    messages: MessagesFile = None,
    document: Annotated[
        list[Path] | None,
        typer.Option(
            "--document", "-d", help="A text file that TEXT is a question about; give several."
        ),
    ] = None,
    answer: Annotated[
        str | None, typer.Option("--answer", help="What was answered to the question.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--view", "-v", help=f"{' | '.join(VIEWS)}; default: head, image or sound"),
    ] = None,
    layer: Annotated[int | None, typer.Option(help="Layer, counted from 0.")] = None,
    head: Annotated[
        list[int] | None, typer.Option(help="Head, counted from 0; may be given several times.")
    ] = None,
    query: Annotated[int | None, typer.Option(help="The selected query token, from 0.")] = None,
    kind: Annotated[
        Literal["encoder", "decoder", "cross"] | None, typer.Option(help="Which attention.")
    ] = None,
    column: Annotated[str | None, typer.Option(help="What the head map colours by.")] = None,
    theme: Annotated[Literal["auto", "light", "dark"], typer.Option(help="Colours.")] = "auto",
    words: Annotated[bool, typer.Option("--words", help="Whole words instead of tokens.")] = False,
    specials: Annotated[
        Literal["shown", "hidden", "renormalised"], typer.Option(help="Special tokens.")
    ] = "shown",
    sentences: Annotated[
        Literal["all", "aa", "ab", "ba", "bb"],
        typer.Option("--filter", help="From which sentence to which."),
    ] = "all",
    orientation: Annotated[
        Literal["vertical", "horizontal"], typer.Option(help="How the tokens run.")
    ] = "vertical",
    minimum: Annotated[float, typer.Option(help="Leave out lines below this weight.")] = 0.0,
    generate: Annotated[
        int, typer.Option(help="Let the model write N more tokens, and read those too.")
    ] = 0,
    own: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any other option of the view, as NAME=VALUE."),
    ] = None,
    truncate: Annotated[
        bool, typer.Option("--truncate", help="Cut a text that is too long.")
    ] = False,
    layers: Layers = None,
    queries: Queries = None,
    budget: Budget = None,
    memory: Memory = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    trust_remote_code: options.TrustRemoteCode = False,
    output: Annotated[
        Path | None, options.output(".html, .svg, .png, .pdf or .safetensors")
    ] = None,
) -> None:
    """Show what a model attends to while reading a text, looking at a picture or hearing a sound.

    Without -o the strongest weights are printed; with it the picture is written as a page
    (.html), a figure for print (.svg, .pdf, .png) or the reading itself (.safetensors).

    Examples:

      headscope view "I went to the store." "At the store, I bought fresh strawberries." -o out.html

      headscope view "Time flies." --view neuron --layer 2 --head 0 -o neuron.pdf

      headscope view "$(cat long.txt)" -v model --layers 0-7 --budget 5MB -o long.html

      headscope view --image photo.png -m digits -o picture.html

      headscope view "What is in the picture?" --image photo.jpg -m ./llava -o question.html

      headscope view --audio speech.wav -m ./wav2vec2 -o sound.html

      headscope view "Who signed?" -d a.txt -d b.txt --answer "Ana." -m MODEL -v text -o read.html

      headscope view " what was said" --audio speech.wav -m ./whisper --kind cross -o words.svg
    """
    talk = _conversation(text, document or [], messages, answer, generate)
    if talk and (text_pair is not None or image or audio or truncate):
        raise BadInput(
            "With --document or --messages there is one text, the question, and nothing is cut; "
            "write -d before each file, and the answer after --answer."
        )
    media = {} if talk else _media(text, text_pair, image, audio, generate)
    name = name or ("image" if image else "sound" if audio else "head")
    _check(name, output)
    from headscope.views.shared.state import checked

    screen: dict[str, Any] = {"specials": specials, "filter": sentences, "orientation": orientation}
    screen |= {"minimum": minimum, "unit": "words" if words else "tokens"}
    screen |= dict(_named(one) for one in own or ())
    checked({**screen, "theme": theme}, name)
    if generate < 0:
        raise BadInput(f"--generate is a number of tokens, not {generate}.")
    narrowed = Narrowing.of(layers, queries, budget, memory)
    chosen = _selection(name, layer=layer, heads=head, query=query, column=column, kind=kind)
    scope = open_scope(model, device, dtype, trust_remote_code)
    if talk and generate:
        reading = scope.generate(max_new_tokens=generate, **talk, memory=memory)
    elif talk:
        reading = scope.read(**talk, memory=memory)
    elif media:
        reading = scope.read(text, **media, memory=memory)
    elif generate:
        reading = scope.generate(text or "", generate)
    else:
        reading = scope.read(text, text_pair, truncate=truncate, memory=memory)
    _show(narrowed(reading), name, {**chosen, **screen}, (theme, budget), output)


def _show(
    reading: Reading,
    name: str,
    asked: dict[str, Any],
    sent: tuple[str, str | None],  # the page's theme and budget in bytes
    output: Path | None,
) -> None:
    """Write the picture or the reading; without a file, print the strongest weights."""
    if output is not None and output.suffix == ".safetensors":
        reading.save(output)
        say_written(output)
        return
    from headscope.surfaces.functions import sending_for
    from headscope.surfaces.view import View

    theme, budget = sent
    shown = View(name, reading, sending_for(reading, theme, budget=budget), asked)
    if output is None:
        from headscope.surfaces.terminal import strongest

        out.print(strongest(reading, shown.state))
        return
    say_written(shown.save(output))


def _check(name: str, output: Path | None) -> None:
    """Check the arguments before a model is opened."""
    if name not in VIEWS:
        raise BadInput(f"--view is one of {', '.join(VIEWS)}, not {name!r}.")
    if output is not None:
        check_output(output, (".html", ".svg", ".png", ".pdf", ".safetensors"), "A view")


def _conversation(
    text: str | None, documents: list[Path], messages: Path | None, answer: str | None, more: int
) -> dict[str, Any]:
    """Messages, documents and the answer; None if none was given."""
    if not documents and messages is None:
        if answer is not None:
            raise BadInput("--answer belongs to --document or --messages.")
        return {}
    if (text is None) == (messages is None):
        raise BadInput("Give a question as the text, or a conversation with --messages.")
    check_texts(messages, *documents)
    said, given, known = conversation(text, documents, messages)
    answer = known if answer is None else answer
    if more and answer is not None:
        raise BadInput("--generate writes the answer; leave --answer out.")
    found = {"messages": said, "documents": given}
    return found if more else {**found, "answer": answer}


def _media(
    text: str | None, text_pair: str | None, image: list[Path] | None, audio: Path | None, more: int
) -> dict[str, Any]:
    """Open pictures and sounds before the model; without them a text is needed."""
    if not image and audio is None:
        if text is None:
            raise BadInput("Give a text to read, or --image or --audio.")
        return {}
    if image and audio is not None:
        raise BadInput("Give --image or --audio, not both.")
    if text_pair is not None or more:
        raise BadInput(
            "--image and --audio take one text; leave the second text and --generate out."
        )
    from headscope.media.picture import open_picture
    from headscope.media.sound import open_sound

    if audio is not None:
        return {"audio": open_sound(audio)}
    return {"image": [open_picture(one) for one in image or ()]}


def _named(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise BadInput(f"--set takes NAME=VALUE, not {text!r}.")
    return name, value


def _selection(name: str, **asked: Any) -> dict[str, Any]:
    """The selection under the view's names; options that the view cannot use raise an error."""
    import inspect

    from headscope.views import discover

    takes = inspect.signature(discover()[name].build).parameters
    heads = asked.pop("heads")
    if heads and name == "scatter":
        if asked["layer"] is None:
            raise BadInput("The scatter view shows all layers; give --layer beside --head.")
        asked["heads"] = [(asked.pop("layer"), head) for head in heads]
    elif heads and "heads" not in takes and "head" in takes:
        if len(heads) > 1:
            raise BadInput(f"The {name} view shows one head; give --head once.")
        asked["head"] = heads[0]
    elif heads:
        asked["heads"] = heads
    given = {key: value for key, value in asked.items() if value is not None}
    for key in given.keys() - takes.keys():
        raise BadInput(f"The {name} view takes no --{'head' if key == 'heads' else key}.")
    return given


Layers = Annotated[
    str | None, typer.Option("--layers", help="Only these layers, such as 0,4-7; all if left out.")
]
Queries = Annotated[
    str | None,
    typer.Option("--queries", help="Only these queries, such as 100:200, the last not included."),
]
Budget = Annotated[
    str | None, typer.Option("--budget", help="The most bytes of a page, such as 5MB. [25MB]")
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory", help="The most memory for a reading, such as 2GB. [half of what is free]"
    ),
]


@dataclass(frozen=True)
class Narrowing:
    """The selection, checked before a model is opened."""

    layers: tuple[int, ...] | None
    queries: tuple[int, int] | None

    @staticmethod
    def of(
        layers: str | None, queries: str | None, budget: str | None, memory: str | None
    ) -> Narrowing:
        from headscope.reading.memory import bytes_of

        for size in (budget, memory):
            if size is not None:
                bytes_of(size)
        return Narrowing(
            None if layers is None else _layers(layers),
            None if queries is None else _queries(queries),
        )

    def __call__(self, reading: Reading) -> Reading:
        if self.layers is None and self.queries is None:
            return reading
        return reading.narrowed(self.layers, self.queries)


def _layers(text: str) -> tuple[int, ...]:
    found: list[int] = []
    for part in text.split(","):
        ends = re.fullmatch(r"\s*(\d{1,4})(?:-(\d{1,4}))?\s*", part)
        if ends is None:
            raise BadInput(f"--layers are numbers such as 0,4-7, not {text!r}.")
        found.extend(range(int(ends[1]), int(ends[2] or ends[1]) + 1))
    if not found:
        raise BadInput(f"--layers are numbers such as 0,4-7, not {text!r}.")
    return tuple(dict.fromkeys(found))


def _queries(text: str) -> tuple[int, int]:
    ends = re.fullmatch(r"\s*(\d+):(\d+)\s*", text)
    if ends is None:
        raise BadInput(f"--queries is a range such as 100:200, not {text!r}.")
    return int(ends[1]), int(ends[2])
