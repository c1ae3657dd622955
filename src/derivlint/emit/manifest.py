"""The manifest of an emitted folder: the files that derivlint wrote, with their digests.

It proves ownership: only a listed file with a matching digest may be replaced or removed. A malformed manifest proves
nothing. It is also written before the first file, with the digests of the current and the new files, so that an
interrupted write can be recovered from.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

#: The file name of the manifest.
MANIFEST = "derivlint.json"
#: The key of the author's sources, which are outside of the folder.
AUTHORS = "authors"
#: The version of the manifest's format.
FORMAT = 1
#: Larger files are not manifests; that of all operators has a hundred kilobytes.
MAX_BYTES = 16 * 1024 * 1024
#: The names of emitted files; a manifest cannot claim others.
_EMITTED = re.compile(
    r"(?:nodes|operators|views)\.h|views\.cpp|(?:nodes|kernels|python_nodes|inplace_or_view)_\d+\.cpp"
    r"|loader\.cpp|CMakeLists\.txt"
    r"|helpers/torch/csrc/autograd/FunctionsManual\.(?:cpp|h)"
    r"|(?:Functions|ViewFuncs)\.(?:cpp|h)|(?:VariableType|ADInplaceOrViewType)_\d+\.cpp|VariableType\.h"
    r"|python_functions(?:\.h|_\d+\.cpp)|derivlint\.map\.json",
    re.ASCII,
)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
#: The key of the digests before an unfinished write.
PENDING = "pending"
_DIGESTS, _OWN = "digests", "digest"


class FolderState(Struct, frozen=True):
    """The state of a folder by its manifest.

    Attributes:
        digests: the possible digests of each emitted file, by its path in the folder.
        complete: whether writing was completed.
    """

    digests: Mapping[str, frozenset[str]]
    complete: bool


def digest_of(data: bytes) -> str:
    """Return the digest of the contents of a file."""
    return hashlib.sha256(data).hexdigest()


def is_emitted_name(name: str) -> bool:
    """Whether a path is one of emitted files."""
    return _EMITTED.fullmatch(name) is not None


def manifest_text(content: Mapping[str, Any], files: Mapping[str, str]) -> str:
    """Render a manifest.

    Args:
        content: its further keys.
        files: the texts of the files, by their paths in the folder.
    """
    digests = {name: digest_of(files[name].encode()) for name in sorted(files)}
    return _sealed({"format": FORMAT, **content, "files": list(digests), _DIGESTS: digests})


def pending_text(text: str, before: Mapping[str, str]) -> str:
    """Render the manifest of a folder during a write.

    Args:
        text: the final manifest.
        before: the digests of the present emitted files.
    """
    content = json.loads(text)
    del content[_OWN]
    return _sealed({**content, PENDING: dict(sorted(before.items()))})


def _sealed(content: dict[str, Any]) -> str:
    own = digest_of(_canonical(content))
    return json.dumps({**content, _OWN: own}, indent=1, ensure_ascii=False) + "\n"


def _canonical(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True).encode()


def read_manifest(data: bytes) -> FolderState | None:
    """Parse a manifest, or return None for bytes that derivlint did not write."""
    if len(data) > MAX_BYTES:
        return None
    try:
        content = json.loads(data)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            return None
        own = content.pop(_OWN, None)
        if own != digest_of(_canonical(content)):
            return None
    except (ValueError, RecursionError):
        return None
    digests_by_name: dict[str, set[str]] = {}
    for digests in (content.get(_DIGESTS), content.get(PENDING, {})):
        if not isinstance(digests, dict):
            return None
        for name, digest in digests.items():
            if not isinstance(digest, str) or _DIGEST.fullmatch(digest) is None:
                return None
            if is_emitted_name(name):
                digests_by_name.setdefault(name, set()).add(digest)
    return FolderState({name: frozenset(digests) for name, digests in digests_by_name.items()}, PENDING not in content)
