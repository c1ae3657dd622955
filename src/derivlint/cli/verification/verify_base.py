"""The base of ``derivlint verify``: a git revision, another file, or the file of the installed PyTorch."""

from __future__ import annotations

from pathlib import Path

from derivlint.emit.emission import Helpers
from derivlint.emit.files import FilesError
from derivlint.lint.changes import changed_entries
from derivlint.model import Model
from derivlint.project.check import model_of
from derivlint.project.errors import InputError, read_file, user_errors
from derivlint.project.files import STDIN
from derivlint.project.git import MERGE_BASE, Revision
from derivlint.project.loading import Loaded
from derivlint.schema import installed_torch
from derivlint.source import SourceFile
from derivlint.verify.base import Base
from derivlint.verify.code.functions import list_operators

#: By default, the merge base of HEAD and the first of these branches that exists.
UPSTREAM = ("origin/HEAD", "origin/main", "main", "origin/master", "master")
#: The default on that branch itself, and without such a branch.
HEAD = "HEAD"
#: The text of a file that did not exist: no entries.
_NOTHING = b"[]\n"


def base_of(
    loaded: Loaded, revision: str | None, against: Path | None, helpers: Path | None, *, has_fallback: bool
) -> Base | None:
    """Return the earlier version of a file, to compare with.

    Args:
        loaded: the file.
        revision: the requested git revision.
        against: the requested file.
        helpers: the FunctionsManual.cpp of the formulas; the base uses that of the revision.
        has_fallback: whether to compare with the file of the installed PyTorch if no revision has the file.

    Returns:
        the version, or None if the file is that of the installed PyTorch.

    Raises:
        InputError: the requested base does not exist, or there is no repository and no default.
    """
    if against is not None:
        return _base(loaded, read_file(against), str(against))
    path = Path(loaded.source.path).resolve()
    try:
        if loaded.source.path == STDIN:
            raise InputError("standard input has no git revision; use --against FILE or --no-base")
        revision_of_base = _merge_base(path.parent) if revision is None else Revision(revision, path.parent)
        text = revision_of_base.text_of(path)
    except InputError:
        if revision is not None or not has_fallback:
            raise
        text = None
    else:
        if text is not None or revision is not None or not has_fallback:
            earlier = SourceFile.from_bytes(loaded.source.path, _NOTHING if text is None else text)
            return _base(loaded, earlier, revision_of_base.name, _helpers_of(revision_of_base, helpers))
    torch = installed_torch()
    if torch is None or torch.derivatives is None or torch.derivatives.resolve() == path:
        return None
    return _base(loaded, read_file(torch.derivatives), "the installed PyTorch")


def _merge_base(folder: Path) -> Revision:
    """Return the merge base of HEAD and the upstream branch, the default base.

    Raises:
        InputError: there is no repository.
    """
    head = Revision(HEAD, folder)
    for branch in UPSTREAM:
        try:
            branch_point = Revision(branch + MERGE_BASE, folder)
        except InputError:
            continue
        return head if branch_point.commit == head.commit else branch_point
    return head


def changed_operators(model: Model, base: Base | None) -> set[str]:
    """Return the operators whose entries differ from the base, and those on lists that share their formulas."""
    if base is None:
        return set()
    entries = changed_entries(model, base.model.source)
    operators = {entry.operator for entry in entries if entry.operator is not None}
    return operators | list_operators(model, operators)


def own_helpers(path: Path | None) -> Helpers | None:
    """Return the user's own FunctionsManual.

    Raises:
        InputError: the file cannot be read.
    """
    if path is None:
        return None
    with user_errors(FilesError):
        return Helpers.read(path)


def _base(loaded: Loaded, source: SourceFile, label: str, helpers: Helpers | None = None) -> Base:
    return Base(model_of(source, loaded.operators.natives, loaded.settings), label, helpers)


def _helpers_of(revision: Revision, path: Path | None) -> Helpers | None:
    """Return the FunctionsManual in a revision, or None for that of the installed PyTorch."""
    if path is None:
        return None
    source = revision.text_of(path)
    if source is None:
        return None
    header = revision.text_of(path.with_suffix(".h"))
    return Helpers(source.decode("utf-8", "replace"), None if header is None else header.decode("utf-8", "replace"))
