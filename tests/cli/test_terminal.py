"""What a terminal gets that a pipe does not: styles, links and progress."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from derivlint.formats.text import rule_url
from tests.cli.conftest import SIN

if sys.platform == "win32":
    pytest.skip("terminals as POSIX has them", allow_module_level=True)

import pty
import subprocess

LINK = "\x1b]8;"
SETTINGS = ("NO_COLOR", "FORCE_COLOR", "CI", "PRE_COMMIT", "TERM", "GITHUB_ACTIONS")


def on_terminal(*arguments: str, **environment: str) -> tuple[int, str]:
    """Run the command with standard output on a terminal; its exit status and what it wrote there."""
    master, slave = pty.openpty()
    inherited = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    process = subprocess.Popen(
        [sys.executable, "-m", "derivlint", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=slave,
        env={**inherited, "TERM": "xterm-256color", **environment},
    )
    os.close(slave)
    chunks = []
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:
            # Linux says so where the other end is closed
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(master)
    return process.wait(timeout=600), b"".join(chunks).decode()


@pytest.fixture
def file(here: Path) -> str:
    (here / "derivatives.yaml").write_text(SIN.replace("self.cos", "sefl.cos"))
    return "derivatives.yaml"


def test_a_terminal_gets_styles_and_links_to_the_pages_of_rules(file: str) -> None:
    status, text = on_terminal("check", file)
    assert status == 1
    assert "\x1b[1;31merror: " in text
    assert f";{rule_url('undefined-name')}\x1b\\" in text
    assert f";{rule_url('undefined-name')}\x1b\\" in on_terminal("check", file, "--statistics")[1]


@pytest.mark.parametrize("variable", ["CI", "PRE_COMMIT"])
def test_nobody_clicks_where_output_is_kept(file: str, variable: str) -> None:
    text = on_terminal("check", file, **{variable: "1"})[1]
    assert "\x1b[1;31merror: " in text
    assert LINK not in text


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        ((), {"NO_COLOR": "1"}),
        ((), {"NO_COLOR": "1", "FORCE_COLOR": "1"}),
        ((), {"TERM": "dumb"}),
        (("--color", "never"), {}),
        (("--output-format", "json"), {"FORCE_COLOR": "1"}),
        (("--output-format", "sarif", "--color", "always"), {}),
    ],
)
def test_a_terminal_gets_no_escapes_where_they_are_not_wanted(
    file: str, arguments: tuple[str, ...], environment: dict[str, str]
) -> None:
    status, text = on_terminal("check", file, *arguments, **environment)
    assert status == 1
    assert "\x1b" not in text


def test_a_pipe_gets_no_links_even_with_colors(file: str) -> None:
    outcome = subprocess.run(
        [sys.executable, "-m", "derivlint", "check", file, "--color", "always"],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=False,
        timeout=600,
    )
    assert "\x1b[1;31merror: " in outcome.stdout
    assert LINK not in outcome.stdout


def test_a_page_is_drawn_on_a_terminal_and_only_there() -> None:
    status, text = on_terminal("rule", "missing-conjugate")
    assert status == 0
    assert "\x1b[" in text
    assert "# missing-conjugate" not in text
    assert "# missing-conjugate" in on_terminal("rule", "missing-conjugate", TERM="dumb")[1]
