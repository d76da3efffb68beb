"""Live pages in Chromium against onnxruntime in Python, in one run.

    python benchmarks/live.py [-m MODEL] [--precision half] [--rounds 5] [--write 20] [--texts 50]

Without -m: the bundled model as one file, opened from disk. With -m: that model as a folder,
served on this machine. Numbers are timed from the question to the answer, with their ratio to the
same file run by onnxruntime in Python with one thread, as in the page; drawn, from the press of
"read" to the first frame of the new picture. The longest frame in between says how long the page
stood still. Attention and tokens are compared with the readings: of these texts, and of --texts
generated ones with none, one or six heads off.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script finds what lies beside its folder

import onnxruntime

import headscope as hs
from headscope.live.graph import Graph, example, halve, write_graph
from tests.browser.live import Answered, asked_json, generated, some_heads

LENGTHS = (20, 64, 128)
WORDS = "the boats go out every morning and the people of the town wait on the stone pier "
READY = ".app-view.hs-ready"
TIMED = """async ([text, rounds]) => {
  const times = [];
  for (let round = 0; round < rounds; round++) {
    const since = performance.now();
    const body = JSON.stringify({model: "", text, text_pair: null, off: [], truncate: false});
    await (await headscopeEngine.fetch("api/read", {method: "POST", body})).arrayBuffer();
    times.push(performance.now() - since);
  }
  return times;
}"""

DRAWN = """async main => {
  const frame = () => new Promise(requestAnimationFrame);
  let last = await frame(), longest = 0, loading = false;
  new MutationObserver(() => (loading ||= main.dataset.state === "loading"))
    .observe(main, { attributes: true });
  const since = performance.now();
  main.getRootNode().querySelector("[data-control=read]").click();
  for (let more = 2; more > 0; more -= loading && main.dataset.state === "ready") {
    const now = await frame();
    [last, longest] = [now, Math.max(longest, now - last)];
  }
  return [performance.now() - since, longest];
}"""


def text_of(scope: hs.Scope, tokens: int) -> str:
    words = (WORDS * tokens).split()[:tokens]
    low, high = 1, len(words)
    while low < high:  # the longest of at most so many tokens
        middle = (low + high + 1) // 2
        found = len(scope.encode([" ".join(words[:middle])]).tokens[0])
        low, high = (middle, high) if found <= tokens else (low, middle - 1)
    return " ".join(words[:low])


def in_python(
    scope: hs.Scope, folder: Path, texts: dict[int, str], rounds: int, precision: str
) -> dict[int, float]:
    """Seconds a text by onnxruntime, one thread."""
    file = folder / "model.onnx"
    graph = Graph(scope)
    write_graph(graph, scope, file)
    if precision == "half":
        halve(file)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(file), options)
    switches = example(scope)["switches"].numpy()
    found: dict[int, float] = {}
    for length, text in texts.items():
        ids = scope.encode([text]).inputs["input_ids"].numpy()
        given: dict[str, Any] = {"ids": ids, "types": np.zeros_like(ids), "switches": switches}
        given["positions"] = np.array([ids.shape[1] - 1])
        fed = {one.name: given[one.name] for one in session.get_inputs()}
        session.run(None, fed)
        found[length] = _median(lambda fed=fed: session.run(None, fed), rounds)
    return found


def _median(call: Any, rounds: int) -> float:
    times: list[float] = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def drawn(page: Page, text: str, rounds: int) -> tuple[float, float]:
    """Milliseconds to the new picture, and of the longest frame; every round reads another text."""
    found: list[list[float]] = []
    for number in range(rounds):
        page.locator("[data-control=text]").fill(f"{text[: text.rindex(' ')]} {number}")
        found.append(page.locator(".app-main").evaluate(DRAWN))
    return statistics.median(one for one, _ in found), max(longest for _, longest in found)


def compare(
    page: Page, scope: hs.Scope, text: str, pair: str | None = None, off: Any = ()
) -> float:
    edited = scope.without(heads=[(layer, head) for _, layer, head in off]) if off else scope
    found, part = Answered(page, text, pair, off), edited.read(text, pair).part()
    assert found.tokens["text"] == list(part.query.labels)
    truth = np.stack([part.weights(number) for number in part.numbers])
    return float(np.abs(found.attention() - truth).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-m", "--model")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", type=int, default=20, help="tokens that a decoder writes")
    parser.add_argument("--precision", choices=("half", "single"), default="half")
    parser.add_argument(
        "--texts", type=int, default=50, help="generated texts of the bundled model"
    )
    asked = parser.parse_args()
    scope = hs.load(asked.model) if asked.model else hs.load()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / ("site" if asked.model else "live.html")
        start = time.perf_counter()
        page_file = hs.live_page(scope, path, precision=asked.precision)
        print(f"export {time.perf_counter() - start:.0f} s")
        files = list(path.iterdir()) if path.is_dir() else [path]
        print(f"size {sum(file.stat().st_size for file in files) / 1e6:.1f} MB")
        handler = functools.partial(
            http.server.SimpleHTTPRequestHandler, directory=page_file.parent
        )
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        served = f"http://127.0.0.1:{server.server_port}/{page_file.name}"
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for _ in range(3):  # the bytes are there: the last times count
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            start = time.perf_counter()
            page.goto(served if asked.model else page_file.as_uri())
            page.locator(READY).wait_for(state="attached", timeout=300_000)
            picture = time.perf_counter() - start
            asked_json(page, "api/tokens", {"model": "", "text": "a"})
            print(f"first picture {picture:.2f} s, model open {time.perf_counter() - start:.2f} s")
        texts = {length: text_of(scope, length) for length in LENGTHS}
        truth = in_python(scope, Path(folder), texts, asked.rounds, asked.precision)
        for length, text in texts.items():
            off = compare(page, scope, text)
            mine = statistics.median(page.evaluate(TIMED, [text, asked.rounds])) / 1e3
            picture, frame = drawn(page, text, asked.rounds)
            print(
                f"{length} tokens: page {mine * 1e3:.0f} ms, onnxruntime {truth[length] * 1e3:.0f}"
                f" ms, {mine / truth[length]:.1f}×; drawn {picture:.0f} ms, longest frame "
                f"{frame:.0f} ms; attention within {off:.1e}"
            )
        if not asked.model:
            some = enumerate(generated(asked.texts))
            worst = max(compare(page, scope, *two, some_heads(seed)) for seed, two in some)
            print(f"{asked.texts} texts and pairs, heads off too: attention within {worst:.1e}")
        if asked.write and scope.kinds == ("decoder",):
            start = time.perf_counter()
            body = {"model": "", "text": texts[20], "count": asked.write}
            said = asked_json(page, "api/write", body)
            seconds = time.perf_counter() - start
            labels = scope.generate(texts[20], asked.write).part().query.labels[-asked.write :]
            same = [step["token"] for step in said["steps"]] == list(labels)
            print(f"writes {asked.write} tokens in {seconds:.1f} s; as in Python: {same}")
        browser.close()
        server.shutdown()


if __name__ == "__main__":
    main()
