"""The manifest of an emitted folder: which files derivlint wrote there, and with what in them.

It is what shows that a file is ours: only a file that it names, and whose digest it has, may be replaced or removed. A
manifest that is not what derivlint writes shows nothing. Since it is written before the first file as well, with the
digests of what is there and of what is to come, a folder whose writing was broken off is still known.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

#: The file that names the others, in the folder.
MANIFEST = "derivlint.json"
#: Where the manifest names the author's sources, which are not in the folder.
AUTHORS = "authors"
#: Names the form of the manifest.
FORMAT = 1
#: A larger file is not a manifest: that of all operators has a hundred kilobytes.
MAX_BYTES = 16 * 1024 * 1024
#: The names of emitted files: nothing that is called otherwise is ever ours, whatever a manifest says.
_EMITTED = re.compile(
    r"(?:nodes|operators|views)\.h|views\.cpp|(?:nodes|kernels|python_nodes|inplace_or_view)_\d+\.cpp"
    r"|loader\.cpp|CMakeLists\.txt"
    r"|helpers/torch/csrc/autograd/FunctionsManual\.(?:cpp|h)"
    r"|(?:Functions|ViewFuncs)\.(?:cpp|h)|(?:VariableType|ADInplaceOrViewType)_\d+\.cpp|VariableType\.h"
    r"|python_functions(?:\.h|_\d+\.cpp)|derivlint\.map\.json",
    re.ASCII,
)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
#: The key of the digests that a folder had before an unfinished write.
PENDING = "pending"
_DIGESTS, _OWN = "digests", "digest"


class FolderState(Struct, frozen=True):
    """The state of a folder by its manifest.

    Attributes:
        digests: the digests that a file of ours can have, by its path in the folder.
        complete: whether the folder was written to the end.
    """

    digests: Mapping[str, frozenset[str]]
    complete: bool


def digest_of(data: bytes) -> str:
    """Return the digest of the contents of a file."""
    return hashlib.sha256(data).hexdigest()


def is_emitted_name(name: str) -> bool:
    """Whether files are emitted under a path."""
    return _EMITTED.fullmatch(name) is not None


def manifest_text(content: Mapping[str, Any], files: Mapping[str, str]) -> str:
    """The manifest of files.

    Args:
        content: its further keys.
        files: the texts of the files, by their paths in the folder.
    """
    digests = {name: digest_of(files[name].encode()) for name in sorted(files)}
    return _sealed({"format": FORMAT, **content, "files": list(digests), _DIGESTS: digests})


def pending_text(text: str, before: Mapping[str, str]) -> str:
    """The manifest of a folder that is being written.

    Args:
        text: the manifest that it is to have.
        before: the digests of the files of ours that are there.
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
