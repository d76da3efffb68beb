"""The gallery is complete: a picture in both themes for every entry, and a page that lists them."""

from __future__ import annotations

import pytest
from examples.gallery import FOLDER, MOST, index
from examples.gallery_entries import ENTRIES, Entry
from web.dev import gallery as sheets


def test_there_are_at_least_24_pages_with_names_of_their_own() -> None:
    assert len({entry.slug for entry in ENTRIES}) == len(ENTRIES) >= 24


def test_the_page_is_what_the_entries_say() -> None:
    assert (FOLDER / "index.md").read_text("utf-8") == index(), "run: python examples/gallery.py"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.slug)
def test_an_entry_has_a_small_picture_in_both_themes(entry: Entry) -> None:
    for theme in ("light", "dark"):
        path = FOLDER / "thumbnails" / f"{entry.slug}-{theme}.webp"
        assert 0 < path.stat().st_size <= MOST


def test_the_page_of_every_view_holds_those_of_the_registry() -> None:
    assert sheets.INDEX.read_text("utf-8") == sheets.index(), "run: python web/dev/gallery.py"


def test_every_view_has_a_sheet_in_both_themes_and_all_are_small() -> None:
    found = {path.name for path in sheets.FOLDER.iterdir()}
    wanted = {f"{name}-{theme}.webp" for name in sheets.told() for theme in sheets.THEMES}
    assert found == wanted, "run: python web/dev/gallery.py"
    assert sum(path.stat().st_size for path in sheets.FOLDER.iterdir()) <= 3_000_000
