"""Commands with all that they print and write: the texts in ``sessions``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.session import played

SESSIONS = Path(__file__).parent / "sessions"


@pytest.mark.parametrize("name", sorted(str(path.relative_to(SESSIONS)) for path in SESSIONS.glob("*/*.txt")))
def test_a_session_is_as_it_is_written(name: str, request: pytest.FixtureRequest, run: Run, here: Path) -> None:
    path = SESSIONS / name
    text = path.read_text(encoding="utf-8")
    for fixture in re.findall(r"^@ (\w+)$", text, re.MULTILINE):
        request.getfixturevalue(fixture)
    result = played(text, run, here)
    if request.config.getoption("update"):
        path.write_text(result, encoding="utf-8")
        text = result
    assert result == text
    assert path.parent.name == ("err" if re.search(r"^\? ", result, re.MULTILINE) else "ok")
