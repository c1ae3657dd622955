"""The JSON schema of a configuration, for editors: made from the table of keys and the rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import derivlint.rules
from derivlint.lint import Option
from derivlint.lint.groups import GROUPS
from derivlint.project.settings.keys import FORMER, KEYS
from derivlint.project.settings.kinds import option_kind, options_of
from derivlint.project.settings.selection import ALL, known_names

#: The schema that is shipped.
SHIPPED = Path(__file__).parent.parent / "data" / "derivlint.schema.json"


def configuration_schema() -> dict[str, Any]:
    """The JSON schema of ``[tool.derivlint]``, and of ``derivlint.toml`` as a whole."""
    former = [{"enum": sorted(derivlint.rules.RENAMED)}] if derivlint.rules.RENAMED else []
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "derivlint",
        "description": "Configuration of derivlint: derivlint.toml, or the table [tool.derivlint] of pyproject.toml.",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            **{key.name: {"description": key.doc, **key.kind.schema} for key in KEYS.values()},
            **{old: {"deprecated": True, "description": f'Use "{new}".'} for old, new in FORMER.items()},
        },
        "definitions": {
            "selector": {
                "description": "The name of a rule, a pattern of names, a group, or ALL.",
                "anyOf": [{"enum": [ALL, *GROUPS, *known_names()]}, *former, {"type": "string", "pattern": "[*?\\[]"}],
            },
            "options": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    rule: {
                        "type": "object",
                        "additionalProperties": False,
                        "properties": {option.name: _option(option) for option in options_of(rule)},
                    }
                    for rule in derivlint.rules.NAMES
                    if options_of(rule)
                },
            },
        },
    }


def _option(option: Option) -> dict[str, Any]:
    default = list(option.default) if isinstance(option.default, tuple) else option.default
    doc = option.doc[:1].upper() + option.doc[1:]
    return {"description": f"{doc}.", "default": default, **option_kind(option).schema}


def schema_text() -> str:
    """The schema as it is shipped."""
    return json.dumps(configuration_schema(), indent=1, ensure_ascii=False) + "\n"
