"""Live pages: one file that opens from disk, or a folder for any static host."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import tempfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from headscope.errors import BadInput, HeadscopeError
from headscope.files import atomic_path
from headscope.live.graph import OF_PICTURES, Graph, check_family, family, halve, write_graph
from headscope.live.known import first_picture, known
from headscope.live.pictures import steps
from headscope.reading import Scope
from headscope.surfaces.bundle import PATH, further_script
from headscope.surfaces.html import digest, render

Precision = Literal["half", "single"]
_STYLE = ":root{color-scheme:light dark}html,body{margin:0;height:100%}"
_WASM = PATH.with_name("onnxruntime.wasm.deflate")


@dataclass(frozen=True)
class _Part:
    """One piece of a live page, compressed."""

    data: bytes

    @staticmethod
    def of(content: bytes) -> _Part:
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        return _Part(packer.compress(content) + packer.flush())

    @property
    def name(self) -> str:
        """A checksum: another model never takes the cached one's name."""
        return hashlib.sha256(self.data).hexdigest()[:16]


def live_page(
    scope: Scope, path: str | Path, *, precision: Precision = "half", title: str | None = None
) -> Path:
    """Write a page in which the model itself runs in the reader's browser.

    Parameters
    ----------
    scope
        The model, of one of the families that a browser can run: encoders and decoders of texts,
        and ViTs.
    path
        A file ending in .html, complete in itself, or a folder for a static web host.
    precision
        How the weights are stored: "half", in 16 bits, is exact where the model was kept in half
        precision, and moves the attention of others by less than 1e-3; "single" is exact to 1e-5.
    title
        The page's title; by default the model's name.

    Returns
    -------
    Path
        The page that was written: the file, or index.html in the folder.

    Examples
    --------
    >>> import headscope as hs
    >>> hs.live_page(hs.load(), "live.html")  # doctest: +SKIP
    PosixPath('live.html')
    """
    check_family(scope)
    if family(scope) in OF_PICTURES:
        steps(scope)
    if precision not in ("half", "single"):
        raise BadInput(f'The precision is "half" or "single", not {precision!r}.')
    _check_exporter()
    target = Path(path)
    one_file = target.suffix.lower() in (".html", ".htm")
    if one_file and not target.parent.is_dir():
        raise BadInput(f"The folder {target.parent} does not exist; create it or choose another.")
    if target.suffix and not one_file and not target.is_dir():
        raise BadInput(f"{target} is neither a page (.html) nor a folder; a folder has no ending.")
    parts = _parts(scope, precision)
    name = title or f"{scope.name} · headscope"
    if one_file:
        with atomic_path(target) as temporary:
            temporary.write_text(_one_file(parts, name), "utf-8")
        return target
    return _folder(parts, name, target)


def _check_exporter() -> None:
    if find_spec("onnx") is None or find_spec("onnxscript") is None:
        raise HeadscopeError(
            "Live pages are made with onnx and onnxscript; install them: "
            "pip install 'headscope[live]'."
        )


def _parts(scope: Scope, precision: Precision) -> dict[str, _Part]:
    """Everything but the app's own script."""
    graph = Graph(scope)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.onnx"
        write_graph(graph, scope, file)
        if precision == "half":
            halve(file)
        model = _Part.of(file.read_bytes())
    try:
        wasm = _Part(_WASM.read_bytes())
    except OSError as error:
        raise HeadscopeError(
            "The front end is not built; run 'make app' in the repository, or install the package."
        ) from error
    asked, picture = first_picture(scope)
    return {
        "known": _Part.of(json.dumps(known(scope, graph, asked)).encode()),
        "first": _Part.of(picture),
        "model": model,
        "wasm": wasm,
        "tokenizer": _Part.of(json.dumps(_tokenizer(scope)).encode()),
        "worker": _Part.of(further_script("live-worker").encode()),
    }


def _tokenizer(scope: Scope) -> dict[str, Any] | None:
    """tokenizer.json, and the few settings that the page's tokenizer reads beside it."""
    tokenizer: Any = scope.tokenizer
    if tokenizer is None:
        return None
    special = {name: str(token) for name, token in tokenizer.special_tokens_map.items()}
    return {
        "json": json.loads(tokenizer.backend_tokenizer.to_str()),
        "config": {"tokenizer_class": type(tokenizer).__name__, **special},
    }


def _rendered(
    manifest: Mapping[str, Mapping[str, Any]],
    inside: Mapping[str, list[str]],
    scripts: list[str],
    policy: Mapping[str, str],
    title: str,
) -> str:
    """Which directives beyond an ordinary page's, and why: docs/how-to/live.md."""
    shared = {
        "default-src": "'none'",
        "style-src": digest(_STYLE),
        "img-src": "data: blob:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return render(
        "live/live.html",
        policy="; ".join(f"{name} {value}" for name, value in {**shared, **policy}.items()),
        style=_STYLE,
        title=title,
        manifest=json.dumps(manifest),
        inside=inside,
        scripts=scripts,
    )


def _one_file(parts: Mapping[str, _Part], title: str) -> str:
    manifest = {name: {"bytes": len(part.data), "inside": True} for name, part in parts.items()}
    inside = {name: _pieces(part.data) for name, part in parts.items()}
    scripts = [further_script(name) for name in ("live-page", "heads", "live-app")]
    allowed = " ".join(digest(script) for script in scripts)
    policy = {
        "script-src": f"{allowed} 'wasm-unsafe-eval'",
        "worker-src": "blob:",
    }
    return _rendered(manifest, inside, scripts, policy, title)


def _pieces(data: bytes) -> list[str]:
    """Base64 for elements of 1 MB: WebKit takes half a minute over a single one of 32 MB."""
    text = base64.b64encode(data).decode("ascii")
    return [text[at : at + 1_000_000] for at in range(0, len(text), 1_000_000)]


def _folder(parts: Mapping[str, _Part], title: str, target: Path) -> Path:
    """Files named by their checksums: what a browser has cached stays right for ever."""
    if target.exists() and not target.is_dir():
        raise BadInput(f"{target} is a file; give a folder, or a name ending in .html.")
    worker = further_script("live-worker")
    names = {name: f"{name}-{part.name}.bin" for name, part in parts.items()}
    names["worker"] = f"worker-{parts['worker'].name}.js"
    manifest = {
        name: {"bytes": len(part.data), "inside": False, "url": names[name]}
        for name, part in parts.items()
    }
    scripts = [further_script(name) for name in ("live-page", "heads", "live-app")]
    allowed = " ".join(digest(script) for script in scripts)
    policy = {
        "script-src": f"'self' {allowed} 'wasm-unsafe-eval'",
        "worker-src": "'self'",
        "connect-src": "'self'",
    }
    with tempfile.TemporaryDirectory() as made:
        for name, part in parts.items():
            content = worker.encode() if name == "worker" else part.data
            (Path(made) / names[name]).write_bytes(content)
        page = _rendered(manifest, {}, scripts, policy, title)
        (Path(made) / "index.html").write_text(page, "utf-8")
        target.mkdir(parents=True, exist_ok=True)
        for file in sorted(Path(made).iterdir(), key=lambda one: one.name == "index.html"):
            shutil.move(file, target / file.name)
    return target / "index.html"
