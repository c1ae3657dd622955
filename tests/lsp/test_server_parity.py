"""The server finds what the command finds: for every invalid case of every rule."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from derivlint.rules import load_rules
from tests.lsp.editor import Editor, capabilities, run
from tests.sampling import sample

pytestmark = pytest.mark.long

#: The command without the causes of wrong values, which take up to a second each: the server finds them on demand.
COMMAND = """
from derivlint.__main__ import main
from derivlint.repair import causes
causes.EXPLAINED = frozenset()
main()
"""


def cases() -> dict[str, str]:
    """The texts of the cases that need no operators of their own, by file names."""
    found = {}
    for rule in load_rules():
        for number, case in enumerate(rule.invalid):
            # an editor has no text for bytes that are not UTF-8
            bare = case.natives is None and case.header is None and case.bodies is None
            if bare and not any("\ud800" <= char <= "\udfff" for char in case.yaml):
                found[f"derivatives_{rule.name}_{number}.yaml"] = case.yaml
    return found


def test_the_server_finds_what_the_command_finds(tmp_path: Path) -> None:
    (tmp_path / "derivlint.toml").write_text('preview = true\nmin-confidence = "low"\n')
    every = cases()
    assert len(every) > 250
    texts = {name: every[name] for name in sample(every, 50)}
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text.encode())
    command = [sys.executable, "-c", COMMAND, "check", "--output-format", "json", str(tmp_path)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))
    expected: dict[str, list[tuple[object, ...]]] = {name: [] for name in texts}
    for item in json.loads(outcome.stdout)["diagnostics"]:
        start, end = item["start"], item["end"]
        place = (start["line"] - 1, start["column"] - 1, end["line"] - 1, end["column"] - 1)
        message = item["message"] + (f"\n{item['help']}" if item["help"] else "")
        expected[Path(item["path"]).name].append((*place, item["rule"], message, item["severity"]))

    async def found() -> dict[str, list[tuple[object, ...]]]:
        names = {1: "error", 2: "warning", 3: "info"}
        found: dict[str, list[tuple[object, ...]]] = {}
        async with Editor(capabilities(encodings=["utf-32"])) as editor:
            for name, text in texts.items():
                uri = editor.open(tmp_path / name, text)
                found[name] = [
                    (
                        item.range.start.line,
                        item.range.start.character,
                        item.range.end.line,
                        item.range.end.character,
                        item.code,
                        item.message,
                        names[int(item.severity or 0)],
                    )
                    for item in await editor.diagnostics(uri, 0)
                ]
                editor.close(uri)
            assert editor.logged == []
        return found

    actual = run(found())
    different = {name: (actual[name], expected[name]) for name in texts if actual[name] != expected[name]}
    assert different == {}
