"""What the site adds to the pages: the project's own files, the decisions, links to the source."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import headscope as hs

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))  # for the page that tests/ makes
SENTENCES = "develop/sentences.md"
PROJECT = {
    "Architecture": "ARCHITECTURE.md",
    "Contributing": "CONTRIBUTING.md",
    "Changelog": "CHANGELOG.md",
    "Security": "SECURITY.md",
    "Training the bundled model": "training/README.md",
}
# search in pages opened from disk needs a stand-in for workers, which the theme would fetch
SHIM, HERE = "https://unpkg.com/iframe-worker/shim", "assets/javascripts/iframe-worker.js"
NAMES = "<!-- public names -->"
_scratch = tempfile.TemporaryDirectory(prefix="headscope-tutorials-", ignore_cleanup_errors=True)
LINK = re.compile(r"(\]\()([^)#\s]+)(#[^)]*)?\)")
WHOLE = re.compile(r"\[([^\[\]]+)\]\(([^)#\s]+)(?:#[^)]*)?\)")


def on_startup(command: str, dirty: bool) -> None:
    """Each tutorial runs in an empty folder of its own: what it writes stays out of the sources."""
    begin = Path(_scratch.name) / "profile_default" / "startup" / "empty_folder.py"
    begin.parent.mkdir(parents=True, exist_ok=True)
    begin.write_text(f"import os, tempfile\nos.chdir(tempfile.mkdtemp(dir={_scratch.name!r}))\n")
    os.environ["IPYTHONDIR"] = _scratch.name


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """A section for those who change headscope, from the files that are there."""
    docs = Path(config.docs_dir)
    decisions = [
        {_title(path): f"decisions/{path.name}"} for path in sorted(docs.glob("decisions/*.md"))
    ]
    own = [{title: _page(source)} for title, source in PROJECT.items()]
    section: dict[str, Any] = {
        "Develop": [*own, {"Every error and label": SENTENCES}, {"Decisions": decisions}]
    }
    nav: list[Any] = [*(config.nav or [])]
    listed = json.dumps(nav)
    guides = next(part["How to"] for part in nav if "How to" in part)
    # a guide that the navigation does not place yet is found at the end of the guides
    guides += [
        {_title(path): page}
        for path in sorted([*docs.glob("*.md"), *docs.glob("how-to/*.md")])
        if f'"{(page := path.relative_to(docs).as_posix())}"' not in listed
    ]
    config.nav = [*nav, section]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for source in PROJECT.values():
        text = (ROOT / source).read_text("utf-8")
        files.append(File.generated(config, _page(source), content=text))
    from tests.sentences_page import page  # not earlier: the path to it is set above

    files.append(File.generated(config, SENTENCES, content=page()))
    for path in _live(config):
        name = f"live/{path.name}"
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def _live(config: MkDocsConfig) -> list[Path]:
    """The bundled model in a page. It takes a minute: a quick build has a note in its stead."""
    folder = Path(_scratch.name) / "live"
    if os.environ.get("TUTORIALS") == "true":
        hs.live_page(hs.load(), folder)
    elif not folder.exists():
        folder.mkdir()
        (folder / "index.html").write_text("<!doctype html><title>live</title>Run make docs.")
    return sorted(folder.iterdir())


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    if NAMES in markdown:
        return markdown.replace(NAMES, reference())
    return _with_links(markdown, page, config.repo_url)


def reference() -> str:
    """Every public name; those that exist only at run time, such as views, by what they say."""
    parts: list[str] = []
    for name in sorted(set(hs.__all__) - {"__version__"}, key=lambda name: (name.lower(), name)):
        thing = getattr(hs, name)
        parts.append(f"## hs.{name}\n\n{_entry(thing)}")
    return "\n\n".join(parts)


def _entry(thing: Any) -> str:
    module, qualified = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    if inspect.ismodule(thing):
        entries = [_entry(found) for found in _public(thing) if callable(found)]
        return "\n\n".join([inspect.getdoc(thing) or "", *entries])
    home = importlib.import_module(module) if module else None
    if home is not None and qualified in _defined(home):
        return f"::: {module}.{qualified}"
    signature = str(inspect.signature(thing)).replace("'", "")
    return f"```python\nhs.{thing.__name__}{signature}\n```\n\n{inspect.getdoc(thing) or ''}"


def _public(package: Any) -> list[Any]:
    """What a package says it offers, or the functions of its own."""
    offered = getattr(package, "__all__", None)
    if offered is not None:
        return [getattr(package, name) for name in offered]
    return [
        found
        for name, found in vars(package).items()
        if inspect.isfunction(found)
        and not name.startswith("_")
        and found.__module__.startswith(package.__name__)
    ]


def _defined(home: Any) -> set[str]:
    """Names a module's own source defines: the reference reads the source, not the module."""
    tree = ast.parse(inspect.getsource(home))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def _with_links(markdown: str, page: Page, repository: str | None) -> str:
    """Links out of the documentation lead to the page made of that file, or to the repository; a
    site without one names the file."""
    origin = {_page(source): Path(source) for source in PROJECT.values()}
    here = origin.get(page.file.src_uri, Path("docs") / page.file.src_uri).parent
    up = "../" * page.file.src_uri.count("/")

    def inside(target: str) -> str | None:
        """The path in the checkout that a link leads to."""
        if "://" in target or target.startswith("mailto:"):
            return None
        path = (ROOT / here / target).resolve()
        return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else None

    def of_site(path: str) -> str | None:
        if path in PROJECT.values():
            return up + _page(path)
        if path.startswith("docs/") and (ROOT / path).is_file():
            return up + path.removeprefix("docs/")
        return None

    def named(match: re.Match[str]) -> str:
        path = inside(match[2])
        if path is None or repository or of_site(path):
            return match[0]
        name = match[1].strip("`")
        return f"`{path}`" if path.startswith(name) else f"{match[1]} (`{path}`)"

    def led(match: re.Match[str]) -> str:
        opening, target, anchor = match[1], match[2], match[3] or ""
        path = inside(target)
        if path is None or not (repository or of_site(path)):
            return match[0]
        return f"{opening}{of_site(path) or f'{repository}/blob/main/{path}'}{anchor})"

    return LINK.sub(led, WHOLE.sub(named, markdown))


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    up = "../" * page.file.src_uri.count("/")
    return output.replace(SHIM, up + HERE)


def on_post_template(output_content: str, template_name: str, config: MkDocsConfig) -> str:
    return output_content.replace(SHIM, HERE)


def on_post_build(config: MkDocsConfig) -> None:
    target = Path(config.site_dir) / HERE
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ROOT / "web/node_modules/iframe-worker/shim/index.js", target)


def _page(source: str) -> str:
    return "develop/" + source.lower().replace("/", "-")


def _title(path: Path) -> str:
    first = path.read_text("utf-8").partition("\n")[0]
    return first.lstrip("# ").strip()
