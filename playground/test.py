"""The playground in a real browser: the findings it shows for an example of every rule are those of the command.

    python playground/test.py SITE CHROMIUM SCREENSHOTS

drive.mjs types, hovers, takes a fix, opens every tab, loads each example, and opens a link on a phone; its screenshots
go into a folder.
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
from typing import Any

from derivlint.cli.main import cli
from derivlint.repair import causes
from derivlint.rules import load_rules

HERE = Path(__file__).resolve().parent
# as in editors, nothing is searched for after each key: the command names causes of wrong values, which takes longer
causes.EXPLAINED = frozenset()
#: A part of what each tab shows for the first example.
PARTS = {
    "suggest": '"mat2" is meant, not "mat3"',
    "model": '"version"',
    "cpp": "Backward",
    "python": "import torch",
    "derive": "cosh",
}


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
    """The files of the site."""

    def log_message(self, *_: Any) -> None:
        """Print nothing for a request."""


@contextlib.contextmanager
def serving(site: Path) -> Iterator[str]:
    """A server of the site; gives its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()


def main(site: Path, chromium: str, screenshots: Path) -> None:
    """Drive the browser and compare.

    Raises:
        SystemExit: something differs, or the browser fails.
    """
    cases = examples()
    screenshots.mkdir(parents=True, exist_ok=True)
    with serving(site) as address, tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary) / "cases.json"
        file.write_text(json.dumps(cases), encoding="utf-8")
        command = ["node", "drive.mjs", address, chromium, str(file), str(screenshots.resolve())]
        process = subprocess.run(command, cwd=HERE, stdout=subprocess.PIPE, text=True, check=False)
    if process.returncode:
        raise SystemExit("the page fails")
    received = json.loads(process.stdout)
    fixed, tabs, phone = received["fixed"], received["tabs"], received["phone"]
    wrong = [
        *(f"a request to another host: {address}" for address in received["foreign"]),
        *(f"{name}: no {part!r} in {tabs[name][:300]!r}" for name, part in PARTS.items() if part not in tabs[name]),
    ]
    if fixed["before"] == fixed["after"] or not fixed["left"] < fixed["first"]:
        wrong.append(f"a fix does not change the findings: {fixed}")
    if "help: " not in received["tooltip"]:
        wrong.append(f"no help in the tooltip: {received['tooltip']}")
    if (phone["findings"], phone["overflow"], "gard" in phone["text"]) != (1, 0, True):
        wrong.append(f"on a phone: {phone}")
    with tempfile.TemporaryDirectory() as folder:
        for (text, natives), result in zip(cases, received["results"], strict=True):
            expected = without_paths(of_the_command(text, natives, Path(folder)))
            if result["typed"] != text or result["error"] or without_paths(result["findings"]) != expected:
                wrong.append(f"{text}\n{result}\n{expected}")
    if wrong:
        raise SystemExit("\n\n".join(wrong[:8]) + f"\n{len(wrong)} differences, {len(cases)} examples")
    edits = sorted(received["edits"])
    print(
        f"{len(cases)} examples: the playground shows what the command finds; first findings after "
        f"{received['cold'] / 1000:.1f} s, after an edit {edits[len(edits) // 2]:.0f} ms"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
