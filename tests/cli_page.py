"""The page of commands, from their own help: `python -m tests.cli_page > docs/reference/cli.md`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import typer

from headscope.cli import build


def commands() -> list[tuple[str, Any]]:
    """Every command with its full name, groups opened up."""
    return list(_below("", typer.main.get_command(build())))


def _below(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name, command
        return
    for short, one in sorted(inner.items()):
        yield from _below(f"{name} {short}".strip(), one)


def page() -> str:
    parts = [
        "# Commands\n",
        "Made from the commands' own help by `python -m tests.cli_page > docs/reference/cli.md`.\n",
        "Without a command, `headscope` opens the app on the bundled model.\n",
    ]
    for name, command in commands():
        parts.append(f"## headscope {name}\n")
        parts.append(_prose(command.help or ""))
        parts.append("| | |\n|---|---|")
        for parameter in command.params:
            if parameter.name == "help":
                continue
            shown = (
                parameter.name.upper().replace("_", "-")
                if parameter.param_type_name == "argument"
                else ", ".join((*parameter.opts, *parameter.secondary_opts))
            )
            said = (getattr(parameter, "help", None) or "") + _choices(parameter)
            said += _default(parameter, said)
            said = said.replace("|", "\\|")
            parts.append(f"| `{shown}` | {_plain(said)} |")
        parts.append("")
    return "\n".join(parts).rstrip() + "\n"


def _choices(parameter: Any) -> str:
    """The values an option allows, where it allows few."""
    kind = parameter.type_descriptor.annotation
    values = [value for one in (kind, *get_args(kind)) for value in get_args(one)
              if get_origin(one) is Literal]  # fmt: skip
    return f" One of {', '.join(dict.fromkeys(values))}." if values else ""


def _default(parameter: Any, said: str) -> str:
    """What an option is if it is not given, unless its help says so."""
    stop = "" if not said or said[-1] in ".!?" else "."
    if parameter.required:
        return f"{stop} Required."
    value = parameter.default
    said_already = re.search(r"default|if left out|\[", said, re.I)
    if value is None or value is False or value == () or said_already:
        return ""
    shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
    return f"{stop} Default: {'on' if value is True else shown}."


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def _prose(text: str) -> str:
    """Paragraphs; indented or command lines of the help become code."""
    blocks = re.split(r"\n\s*\n", text.strip())
    said: list[str] = []
    for block in blocks:
        flat = _plain(block)
        if flat.startswith("headscope "):
            said.append(f"```\n{flat}\n```\n")
        else:
            said.append(f"{flat}\n")
    return "\n".join(said)


if __name__ == "__main__":
    print(page(), end="")
