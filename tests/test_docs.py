"""The documentation is true of the tree: links resolve, commands exist, pages are up to date."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli_page import commands, page

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("training/**/*.md"),
        *ROOT.glob("src/**/*.md"),
    ]
)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
COMMAND = re.compile(r"^\s*headscope ([a-z]+)", re.M)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(path: Path) -> None:
    for target in LINK.findall(path.read_text()):
        if "://" not in target and not target.startswith("mailto:"):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_that_is_shown_exists(path: Path) -> None:
    known = {name.split()[0] for name, _ in commands()}
    assert set(COMMAND.findall(path.read_text())) <= known


def test_the_page_of_commands_is_what_the_commands_say() -> None:
    assert (ROOT / "docs" / "cli.md").read_text() == page(), (
        "run: python -m tests.cli_page > docs/cli.md"
    )


def test_every_folder_stands_in_the_architecture() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    folders = [path.parent.name for path in ROOT.glob("src/headscope/*/__init__.py")]
    assert [name for name in folders if f"`{name}/`" not in text] == []


def test_every_page_is_reached_from_the_readme() -> None:
    text = (ROOT / "README.md").read_text()
    pages = [path.name for path in ROOT.glob("docs/*.md")]
    assert [name for name in pages if f"docs/{name}" not in text] == []
