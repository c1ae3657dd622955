"""The JSON schema that is shipped for editors: current, and of one mind with the reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from derivlint.project.errors import InputError
from derivlint.project.settings import find_settings
from derivlint.project.settings.document import load_toml
from derivlint.project.settings.keys import FORMER, KEYS, SHIPPED, configuration_schema, schema_text
from tests.project.test_settings import EVERY_KEY

GOOD = (
    "",
    EVERY_KEY.replace("tool.derivlint.", ""),
    'select = ["ALL", "missing-*"]',
    'severity = { "unused-*" = "off", ALL = "info" }',
    "options.missing-argument-derivative = { usual = 1, arguments = [] }",
)
BAD = (
    "selct = []", 'select = "ALL"', 'select = ["nope"]', "ignore = [1]", "preview = 1", "torch = 2.1",
    'min-severity = "off"', 'severity.unknown-key = "no"', 'severity.nope = "off"', "options.nope = {}",
    "options.undefined-function.names = []", "options.undefined-function = 1",
    "options.missing-argument-derivative.usual = 0", "options.missing-argument-derivative.usual = true",
    'per-file-ignores = ["ALL"]', 'per-file-ignores.x = "ALL"', "exclude = 1",
)  # fmt: skip


def test_the_shipped_schema_is_current() -> None:
    assert SHIPPED.read_text(encoding="utf-8") == schema_text(), 'run "python -m tools.docs"'


def test_the_schema_is_a_schema_that_has_every_key_with_a_description() -> None:
    schema = configuration_schema()
    jsonschema.Draft7Validator.check_schema(schema)
    assert list(schema["properties"]) == [*KEYS, *FORMER]
    assert all(item["description"] for item in schema["properties"].values())


def accepts(document: dict[str, Any]) -> bool:
    return not list(jsonschema.Draft7Validator(json.loads(schema_text())).iter_errors(document))


def reads(text: str, folder: Path) -> bool:
    (folder / "derivlint.toml").write_text(text)
    try:
        find_settings(folder)
    except InputError:
        return False
    return True


@pytest.mark.parametrize("text", GOOD)
def test_the_schema_accepts_what_the_reader_takes(text: str, here: Path) -> None:
    assert (accepts(load_toml(text)), reads(text, here)) == (True, True)


@pytest.mark.parametrize("text", BAD)
def test_the_schema_refuses_what_the_reader_refuses(text: str, here: Path) -> None:
    assert (accepts(load_toml(text)), reads(text, here)) == (False, False)


def test_former_names_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("derivlint.rules.RENAMED", {"old-name": "unknown-key"})
    assert configuration_schema()["definitions"]["selector"]["anyOf"][1] == {"enum": ["old-name"]}
