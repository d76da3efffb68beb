"""The documentation is true of the tree: links resolve, commands exist, pages are up to date."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import headscope as hs
from tests import views_page
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
MADE = {"live/index.html"}  # when the site is built
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
CODE = re.compile(r"^```[^\n]*\n(.*?)^```", re.S | re.M)
COMMAND = re.compile(r"^\s*headscope ([a-z]+)", re.M)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(path: Path) -> None:
    for target in LINK.findall(path.read_text()):
        if "://" not in target and not target.startswith("mailto:") and target not in MADE:
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_that_is_shown_exists(path: Path) -> None:
    known = {name.split()[0] for name, _ in commands()}
    code = "\n".join(CODE.findall(path.read_text()))
    assert set(COMMAND.findall(code)) <= known


def test_every_option_a_guide_names_exists() -> None:
    option = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
    known = set(option.findall(page())) | {"--version", "--help", "--install-completion"}
    known |= {"--to", "--index-url", "--tokens", "--rounds", "--no-deps"}  # of other programs
    guides = [ROOT / "README.md", *ROOT.glob("docs/start/*.md"), *ROOT.glob("docs/how-to/*.md")]
    for path in guides:
        assert set(option.findall(path.read_text())) <= known, path.name


def test_the_page_of_commands_is_what_the_commands_say() -> None:
    assert (ROOT / "docs" / "reference" / "cli.md").read_text() == page(), (
        "run: python -m tests.cli_page > docs/reference/cli.md"
    )


def test_every_option_is_described() -> None:
    rows = re.findall(r"^\| `(-[^`]+)` \|(.*)\|$", page(), re.M)
    assert len(rows) > 100
    assert [name for name, said in rows if len(said.strip()) < 5] == []


def test_the_table_of_views_is_what_their_files_say() -> None:
    assert views_page.PAGE.read_text() == views_page.page(), "run: python -m tests.views_page"


def test_the_architecture_names_every_folder_and_none_that_is_not_there() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    every = re.findall(r"^  (\w+)/ +(.+(?:\n {18}.+)*)", text, re.M)
    told = dict(every)
    assert len(told) == len(every), "a folder is named twice"
    layers = (ROOT / "pyproject.toml").read_text().partition("layers = [")[2].partition("]")[0]
    imported = [name for name in re.findall(r"headscope\.(\w+)", layers) if name in told]
    assert list(told) == imported, "a folder stands above those it imports from"
    tree = {path.parent for path in ROOT.glob("src/headscope/*/__init__.py")}
    assert set(told) == {path.name for path in tree}
    for folder in tree:
        inside = {path.parent.name for path in folder.glob("*/__init__.py")}
        assert inside <= set(re.findall(r"(\w+)/", told[folder.name])), folder.name
        named = re.findall(r"(?<![<>/])\b(\w+)/", told[folder.name])
        assert [name for name in named if not (folder / name).is_dir()] == [], folder.name
    front_end = re.findall(r"^web/src/ +(.+(?:\n {18}.+)*)", text, re.M)[0]
    folders = {path.name for path in (ROOT / "web" / "src").iterdir() if path.is_dir()}
    assert folders == set(re.findall(r"(?<![<>/])\b(\w+)/", front_end))


def test_decisions_are_numbered_without_gaps() -> None:
    numbers = sorted(path.name[:4] for path in ROOT.glob("docs/decisions/*.md"))
    assert numbers == [f"{n + 1:04}" for n in range(len(numbers))]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_that_a_page_names_exist(path: Path) -> None:
    roots = (ROOT, ROOT / "src/headscope", ROOT / "src/headscope/statistics", path.parent)
    named = re.compile(r"`(?:pytest |python )?([a-z_0-9]+/[a-z_0-9/]+\.(?:py|ts))")
    found = named.findall(path.read_text())
    assert [name for name in found if not any((root / name).exists() for root in roots)] == []


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_site_builds_without_a_warning_and_fetches_nothing(site: Path) -> None:
    fetched = re.compile(r"""<(?:script|link|img|iframe)[^>]+(?:src|href)=["'](https?:[^"']+)""")
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    for path in pages:
        assert fetched.findall(path.read_text()) == [], path.relative_to(site)


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    text = (site / "reference" / "python.html").read_text()
    described = set(re.findall(r'<h[23] id="headscope\.[\w.]*?(\w+)"', text))
    described |= set(re.findall(r'<h2 id="hs(\w+)"', text))  # views exist at run time alone
    names = [name for name in hs.__all__ if not name.startswith("_")]
    for package in ("circuits", "monitor", "probe"):
        names += getattr(hs, package).__all__
    assert [name for name in names if name not in described and name.lower() not in described] == []


def test_packages_that_are_functions_are_described_as_functions(site: Path) -> None:
    text = (site / "reference" / "python.html").read_text()
    assert 'id="headscope.atlas.make.atlas"' in text
    assert "__getattr__" not in text


def test_every_picture_says_what_it_shows(site: Path) -> None:
    for path in site.rglob("*.html"):
        for picture in re.findall(r"<img[^>]*>", path.read_text()):
            assert re.search(r'alt="[^"]+"', picture), f"{path.relative_to(site)}: {picture}"


def test_the_gallery_has_a_picture_for_each_theme(site: Path) -> None:
    text = (site / "gallery" / "index.html").read_text()
    light, dark = (text.count(f"-{theme}.webp#only-{theme}") for theme in ("light", "dark"))
    assert light == dark == len(list(ROOT.glob("docs/gallery/thumbnails/*-light.webp")))


def test_the_moving_picture_of_the_first_screen_is_light() -> None:
    shown = re.search(r"!\[[^\]]+\]\((\S+\.webp)\)", (ROOT / "README.md").read_text())
    assert shown and (ROOT / shown[1]).stat().st_size <= 2_000_000


def test_the_page_of_public_names_is_what_they_say_of_themselves() -> None:
    from tests import python_page

    assert (ROOT / "docs" / "reference" / "python.md").read_text() == python_page.page(), (
        "run: python -m tests.python_page > docs/reference/python.md"
    )
