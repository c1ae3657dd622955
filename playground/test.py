"""The playground in a real browser: the findings it shows for an example of every rule are those of the command.

    python playground/test.py SITE CHROMIUM

A page with the playground in a frame types each example into the editor, and sends what is shown back to this process.
One fix is clicked as well.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from derivlint.cli.main import cli
from derivlint.rules import load_rules

#: Seconds without any progress of the browser, which may share its machine with others.
LIMIT = 180
DRIVER = """<!doctype html><iframe src="/playground/" width="1000" height="800"></iframe><script type="module">
const send = (path, value) => fetch(path, { method: "POST", body: JSON.stringify(value) });
const frame = document.querySelector("iframe");
await new Promise((resolve) => frame.addEventListener("load", resolve));
const page = frame.contentDocument;
const shown = () => [...page.querySelectorAll("#findings li")].map((item) => JSON.parse(item.dataset.finding));
const checked = () => new Promise((resolve) => page.addEventListener("checked", resolve, { once: true }));
const type = (id, text, event) => {
  page.getElementById(id).value = text;
  page.getElementById(id).dispatchEvent(new Event(event));
};
try {
  const start = await checked();
  if (start.detail.error) throw new Error(start.detail.error);
  const first = shown();
  const fix = [...page.querySelectorAll("#findings button")].find((button) => button.textContent.startsWith("Fix: "));
  const before = page.getElementById("derivatives").value;
  const again = checked();
  fix.click();
  await again;
  const fixed = { before, after: page.getElementById("derivatives").value, first: first.length, left: shown().length };
  const results = [];
  for (const [text, natives] of await (await fetch("/cases.json")).json()) {
    const done = checked();
    page.getElementById("natives").value = natives;
    type("derivatives", text, results.length ? "change" : "input"); // both start a check, "input" after a pause
    const event = await done;
    await send("/progress", results.length);
    const typed = page.getElementById("derivatives").value;
    results.push({ typed, findings: shown(), error: event.detail.error ?? null });
  }
  await send("/results", { fixed, results, seconds: performance.now() / 1000 });
} catch (error) {
  await send("/results", { error: String(error) });
}
</script>"""


def examples() -> list[tuple[str, str]]:
    """The first example of every rule that can be typed into an editor, with the operators that it brings along."""
    cases = ([case for case in rule.invalid if can_be_typed(case.yaml)][:1] for rule in load_rules())
    return [(case.yaml, case.natives or "") for found in cases for case in found]


def can_be_typed(text: str) -> bool:
    """Whether a text area keeps a text: no bytes that are not UTF-8, no line ends other than a newline."""
    return "\r" not in text and not any("\ud800" <= char <= "\udfff" for char in text)


def of_the_command(text: str, natives: str, folder: Path) -> list[dict[str, Any]]:
    """What the command finds in a text."""
    path, output = folder / "derivatives.yaml", folder / "findings.json"
    path.write_text(text, encoding="utf-8")
    arguments = [
        "check",
        str(path),
        "--isolated",
        "--no-cache",
        "--output-format",
        "json",
        "--output-file",
        str(output),
    ]
    if natives:
        (folder / "native_functions.yaml").write_text(natives, encoding="utf-8")
        arguments += ["--native-functions", str(folder / "native_functions.yaml")]
    with contextlib.redirect_stderr(None), contextlib.suppress(SystemExit):
        cli.main(arguments, prog_name="derivlint", standalone_mode=False)
    findings: list[dict[str, Any]] = json.loads(output.read_text(encoding="utf-8"))["diagnostics"]
    return findings


def without_paths(value: Any) -> Any:
    """Findings without the folder that the file is in."""
    if isinstance(value, dict):
        return {key: Path(item).name if key == "path" else without_paths(item) for key, item in value.items()}
    return [without_paths(item) for item in value] if isinstance(value, list) else value


class Handler(SimpleHTTPRequestHandler):
    """The site, the driving page, and the place where the results go."""

    received: ClassVar[dict[str, Any]] = {}
    arrived = threading.Event()
    cases: ClassVar[list[tuple[str, str]]] = []

    def do_GET(self) -> None:
        """A file of the site, or a page of the test."""
        pages = {"/driver.html": ("text/html", DRIVER), "/cases.json": ("application/json", json.dumps(self.cases))}
        if self.path not in pages:
            super().do_GET()
            return
        kind, body = pages[self.path]
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.end_headers()
        self.wfile.write(body.encode())

    def do_POST(self) -> None:
        """A step, or the results."""
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()
        if self.path == "/results":
            Handler.received = sent
        Handler.arrived.set()

    def log_message(self, *_: Any) -> None:
        """Nothing is printed for a request."""


@contextlib.contextmanager
def serving(site: Path) -> Iterator[int]:
    """A server of the site; gives its port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()


def main(site: Path, chromium: str) -> None:
    """Run the browser and compare.

    Raises:
        SystemExit: something differs, or the browser is not done in time.
    """
    Handler.cases = examples()
    with serving(site) as port, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            f"--user-data-dir={profile}",
        ]
        address = f"http://127.0.0.1:{port}/driver.html"
        browser = subprocess.Popen([chromium, *options, address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while not Handler.received:
                if not Handler.arrived.wait(LIMIT):
                    raise SystemExit(f"the browser has done nothing for {LIMIT} s")
                Handler.arrived.clear()
        finally:
            browser.terminate()
            browser.wait()
    received = Handler.received
    if "error" in received:
        raise SystemExit(f"the page fails: {received['error']}")
    fixed = received["fixed"]
    if fixed["before"] == fixed["after"] or not fixed["left"] < fixed["first"]:
        raise SystemExit(f"a fix does not change the findings: {fixed}")
    with tempfile.TemporaryDirectory() as folder:
        differing = []
        for (text, natives), result in zip(Handler.cases, received["results"], strict=True):
            expected = without_paths(of_the_command(text, natives, Path(folder)))
            if result["typed"] != text or result["error"] or without_paths(result["findings"]) != expected:
                differing.append((text, result, expected))
    for text, result, expected in differing[:5]:
        print(text, result, expected, sep="\n", end="\n\n")
    if differing:
        raise SystemExit(f"{len(differing)} of {len(Handler.cases)} examples differ")
    print(f"{len(Handler.cases)} examples in {received['seconds']:.0f} s: the playground shows what the command finds")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
