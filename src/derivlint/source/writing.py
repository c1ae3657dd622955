"""Files that are written as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def replace_file(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Write a file beside its place, then move it there; nothing is left behind where that fails.

    Raises:
        OSError: it cannot be written.
    """
    # most runs write no file: what tempfile imports takes some milliseconds
    import tempfile

    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
