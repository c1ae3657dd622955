"""Values as JSON text that strict readers take, and that says nothing but itself to a terminal or a log."""

from __future__ import annotations

import json
from typing import Any

from derivlint.source import visible_json

Json = dict[str, Any]


def json_line(value: object) -> str:
    """A value as JSON on one line, without a line end."""
    return visible_json(strict(json.dumps(value, ensure_ascii=False, separators=(",", ":"))))


def json_text(value: object, indent: int = 2) -> str:
    """A value as indented JSON with a line end."""
    return visible_json(strict(json.dumps(value, ensure_ascii=False, indent=indent))) + "\n"


def strict(text: str) -> str:
    """A text without lone surrogates, which come from names that are not UTF-8 and from escapes in YAML."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
