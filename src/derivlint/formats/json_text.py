"""Values as JSON text that strict readers take."""

from __future__ import annotations

import json
from typing import Any

Json = dict[str, Any]


def json_line(value: object) -> str:
    """A value as JSON on one line, without a line end."""
    return strict(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def json_text(value: object) -> str:
    """A value as indented JSON with a line end."""
    return strict(json.dumps(value, ensure_ascii=False, indent=2)) + "\n"


def strict(text: str) -> str:
    """A text without lone surrogates, which come from names that are no UTF-8 and from escapes in YAML."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
