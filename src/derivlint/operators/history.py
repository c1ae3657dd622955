"""The operator indexes of all releases in one file, which is little larger than a single index.

A row is stored once, with the first release that has it and the first one that lacks it. Rows are merged such that
those of one release are in the order of its index. All other values are stored by their path in the JSON.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

from derivlint.schema import NativeFunctions
from derivlint.schema.index import FORMAT as INDEX_FORMAT
from derivlint.schema.index import IndexFormatError, available_versions, load_index, natives_of

FORMAT = 1
HISTORY = "history.json.zlib"

_DATA = Path(__file__).parent / "data"


def read_history(data: bytes, version: str) -> dict[str, Any]:
    """The index of one release, as JSON.

    Args:
        data: the bytes of the file.
        version: a release in the file.

    Raises:
        IndexFormatError: the bytes have another format.
    """
    try:
        content = json.loads(zlib.decompress(data))
        if content["format"] != FORMAT:
            raise IndexFormatError(f"the file of releases has format {content['format']}, expected {FORMAT}")
        number = content["releases"].index(version)
        index: dict[str, Any] = {
            "format": INDEX_FORMAT,
            "version": version,
            "profiles": content["profiles"],
            "functions": [row for since, until, row in content["functions"] if _is_in(number, since, until)],
            "generator_lists": None,
        }
        for since, until, (path, value) in content["facts"]:
            if _is_in(number, since, until):
                place = index
                for name in path[:-1]:
                    place = place.setdefault(name, {})
                place[path[-1]] = value
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, zlib.error) as error:
        raise IndexFormatError("not a file of releases") from error
    return index


def _is_in(number: int, since: int, until: int | None) -> bool:
    return since <= number and (until is None or number < until)


@cache
def history_bytes() -> bytes:
    """The content of the bundled file."""
    return (_DATA / HISTORY).read_bytes()


@cache
def bundled_versions() -> tuple[str, ...]:
    """The PyTorch releases whose operators are bundled, oldest first."""
    return tuple(json.loads(zlib.decompress(history_bytes()))["releases"])


def versions_with_schemas(schemas: Collection[str]) -> dict[str, int]:
    """Count the given schemas in each bundled release; only exact spellings count."""
    texts = frozenset(schemas)
    counts = dict.fromkeys(bundled_versions(), 0)
    versions = bundled_versions()
    for since, until, (text, *_) in json.loads(zlib.decompress(history_bytes()))["functions"]:
        if text in texts:
            for version in versions[since:until]:
                counts[version] += 1
    return counts


def helper_arities(version: str) -> dict[str, set[int]]:
    """The numbers of arguments that each helper of a bundled release accepts.

    Args:
        version: the release.
    """
    arities: dict[str, set[int]] = {}
    declarations = read_history(history_bytes(), version).get("declarations") or {}
    for functions in declarations.get("functions", {}).values():
        for name, overloads in functions.items():
            for _, parameters, *_ in overloads:
                required = sum("=" not in parameter for parameter in parameters)
                arities.setdefault(name, set()).update(range(required, len(parameters) + 1))
    return arities


def load_release(version: str | None = None) -> NativeFunctions:
    """The operators of a PyTorch release; by default, of the one with a separate index.

    Args:
        version: a bundled release, or its major and minor number: ``2.6`` for ``2.6.0``.

    Raises:
        LookupError: no such release is bundled; the message lists those that are.
    """
    if version is None or version in available_versions():
        # a separate index loads in a third of the time
        return load_index(version)
    bundled = next((name for name in bundled_versions() if version in (name, name.rpartition(".")[0])), None)
    if bundled is None:
        versions = ", ".join(bundled_versions())
        raise LookupError(f'no operator index of PyTorch "{version}" is bundled, only of {versions}')
    if bundled in available_versions():
        return load_index(bundled)
    return natives_of(read_history(history_bytes(), bundled), f"the bundled operator index of PyTorch {bundled}")
