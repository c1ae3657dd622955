"""The description for the package index: README.md with absolute links. Everything else is in pyproject.toml."""

from __future__ import annotations

import re
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).resolve().parent
#: A link or picture whose target is a file of the repository.
RELATIVE = re.compile(r"(?P<picture>!?)(?P<text>\[[^\]]*\])\((?!https?://|#)(?P<path>[^)\s]+)\)")


def description() -> str:
    """Return README.md with links that lead to the project's address, which pyproject.toml declares."""
    declared = re.search(r'^Homepage = "(.*)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert declared is not None

    def absolute(link: re.Match[str]) -> str:
        kind = "raw" if link["picture"] else "blob"
        return f"{link['picture']}{link['text']}({declared[1]}/{kind}/main/{link['path']})"

    return RELATIVE.sub(absolute, (ROOT / "README.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    setup(long_description=description(), long_description_content_type="text/markdown")
