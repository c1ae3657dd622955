"""Files that declare operators, recognized by their content."""

from __future__ import annotations

import os
import re
from pathlib import Path

from derivlint.project.errors import user_errors
from derivlint.source import SourceError, read_bytes

TAGS_NAME = "tags.yaml"
#: The path of the operators in a PyTorch checkout.
NATIVE_FUNCTIONS = Path("aten/src/ATen/native/native_functions.yaml")
#: The minimum number of functions in a complete native_functions.yaml; PyTorch had more than 1,300 in 2020.
MIN_COMPLETE = 1000
#: Limits of the search for custom operators: the size of a file, and the number of YAML files in a folder.
MAX_OWN_BYTES = 1_000_000
MAX_YAML_FILES = 50
_DECLARATION = re.compile(rb"^- func:", re.MULTILINE)


def files_with_operators(folder: Path) -> tuple[Path, ...]:
    """Return the files in a folder that declare custom operators, in the form of native_functions.yaml.

    Links are skipped, since they may lead anywhere. A folder with many YAML files is not searched.
    """
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix in (".yaml", ".yml"))
    except OSError:
        return ()
    return tuple(path for path in paths if declares_operators(path)) if len(paths) <= MAX_YAML_FILES else ()


def declares_operators(path: Path) -> bool:
    """Whether a file declares custom operators in the form of native_functions.yaml; links are not followed."""
    try:
        data = b"" if path.is_symlink() or not path.is_file() else read_bytes(path, str(path), MAX_OWN_BYTES)
    except (OSError, SourceError):
        return False
    return 0 < len(_DECLARATION.findall(data)) < MIN_COMPLETE


def is_complete_file(path: Path) -> bool:
    """Whether a file declares all of PyTorch's operators.

    Raises:
        InputError: the file cannot be read.
    """
    if path.absolute().parts[-len(NATIVE_FUNCTIONS.parts) :] == NATIVE_FUNCTIONS.parts:
        return True
    with user_errors(SourceError):
        data = read_bytes(path, str(path))
    return data.count(b"- func:") >= MIN_COMPLETE


def tags_beside(files: tuple[Path, ...]) -> Path | None:
    """Return the file of tags next to the first file of native functions."""
    tags = files[0].absolute().with_name(TAGS_NAME)
    return tags if os.path.isfile(tags) else None
