"""Inputs that are more than one text: a command line with the files that it finds, as one sequence of bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Case:
    """A command line and what it meets.

    Attributes:
        arguments: the arguments, without the name of the program.
        files: the files by their names, relative to the working folder.
        stdin: standard input.
    """

    arguments: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    stdin: bytes = b""

    def encoded(self) -> bytes:
        """As JSON; bytes that are not UTF-8 become lone surrogates."""
        document = {
            "arguments": self.arguments,
            "files": {name: _text(data) for name, data in self.files.items()},
            "stdin": _text(self.stdin),
        }
        return json.dumps(document, indent=1).encode()

    @classmethod
    def decoded(cls, data: bytes) -> Case:
        """From JSON.

        Raises:
            ValueError: it is something else.
        """
        document = json.loads(data)
        try:
            return cls(
                tuple(str(item) for item in document["arguments"]),
                {str(name): _bytes(text) for name, text in document["files"].items()},
                _bytes(document["stdin"]),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a case: {error}") from error

    def write(self, folder: Path) -> None:
        """Put the files into a folder."""
        for name, data in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    # a lone surrogate beyond those of surrogateescape is one that the input was to have
    return text.encode("utf-8", "surrogateescape") if _escapes(text) else text.encode("utf-8", "surrogatepass")


def _escapes(text: str) -> bool:
    return all(not 0xD800 <= ord(char) <= 0xDFFF or 0xDC80 <= ord(char) <= 0xDCFF for char in text)
