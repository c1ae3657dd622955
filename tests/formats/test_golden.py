"""Every format, on a report with all that formats get wrong and on a clean one: the whole text, byte by byte.

``pytest --update tests/formats/test_golden.py`` writes the files again; read what changes.
"""

from __future__ import annotations

import pytest

from derivlint.formats.registry import FORMATS
from tests.formats.reports import GOLDEN, anywhere, compare, empty, report

ENDINGS = {"text": "txt", "concise": "txt", "github": "txt", "json-lines": "jsonl", "rdjsonl": "jsonl", "junit": "xml"}
ENDINGS |= {"lintrunner": "jsonl"}


@pytest.mark.parametrize("name", FORMATS)
def test_the_whole_report(name: str) -> None:
    compare(f"{name}.{ENDINGS.get(name, 'json')}", anywhere(FORMATS[name].render(report())))


@pytest.mark.parametrize("name", FORMATS)
def test_a_clean_report(name: str) -> None:
    compare(f"{name}-clean.{ENDINGS.get(name, 'json')}", anywhere(FORMATS[name].render(empty())))


@pytest.mark.parametrize("name", ["text", "concise", "json"])
def test_counts_for_each_rule(name: str) -> None:
    compare(f"{name}-statistics.{ENDINGS.get(name, 'json')}", FORMATS[name].render(report(statistics=True)))


def test_there_is_no_golden_file_of_nothing() -> None:
    names = {
        path.name.partition(".")[0].removesuffix("-clean").removesuffix("-statistics") for path in GOLDEN.iterdir()
    }
    assert names == set(FORMATS)
