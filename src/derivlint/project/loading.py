"""Loading derivatives files with their operators and models, for commands and the Python API."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from derivlint.lint.wording import unknown_name
from derivlint.project.errors import InputError
from derivlint.project.operators import (
    LoadedOperators,
    Operators,
    load_operators,
    operators_for,
    problem_text,
    resolve_release,
)
from derivlint.project.settings import Settings
from derivlint.source import SourceFile

if TYPE_CHECKING:
    from derivlint.model import Model


class Loaded(Struct, frozen=True):
    """A file with its model.

    Attributes:
        source: the file.
        folder: its folder, or None for a text without one.
        model: its model.
        operators: the sources of its operators.
        settings: its settings.
    """

    source: SourceFile
    folder: Path | None
    model: Model
    operators: LoadedOperators
    settings: Settings

    def with_options(self, **options: Any) -> Loaded:
        """Build the model again with command-line options; with ``torch``, the configured operator files are kept."""
        settings = self.settings
        if "torch" in options:
            options = {"native_functions": settings.native_functions, "tags": settings.tags, **options}
        return load_source(self.source, self.folder, settings.overridden(**options))

    def with_all_declared(self) -> Loaded:
        """Return a copy whose formulas can only call declared functions, as when they are compiled."""
        from derivlint.project.check import model_of

        natives = self.operators.natives.all_declared()
        model = model_of(self.source, natives, self.settings)
        return replace(self, model=model, operators=replace(self.operators, natives=natives))

    def require_operators(self) -> Loaded:
        """Return the file itself.

        Raises:
            InputError: there are problems in files of native functions.
        """
        problems = self.operators.natives.problems
        if problems:
            raise InputError(problem_text(problems[0]))
        return self


def load_source(
    source: SourceFile,
    folder: Path | None,
    settings: Settings,
    load: Callable[[Operators], LoadedOperators] = load_operators,
) -> Loaded:
    """Load the operators of a file, and build its model.

    Args:
        source: the file.
        folder: its folder, or None for a text without one.
        settings: its settings.
        load: loads operators, with a cache.

    Raises:
        InputError: operators cannot be read, or the file does not have the selected version.
    """
    from derivlint.project.check import model_of

    operators = load(resolve_release(operators_for(folder, settings), source, load))
    return Loaded(source, folder, model_of(source, operators.natives, settings), operators, settings)


def require_names(model: Model, names: tuple[str, ...]) -> tuple[str, ...] | None:
    """Validate operator names; return None for all operators, on no name or "*" ("all" is an operator).

    Raises:
        InputError: an operator does not exist.
    """
    if "*" in names:
        return None
    for name in names:
        functions = model.natives.operator(name) if "." in name else model.natives.named(name)
        if not functions and not model.natives.with_base(name):
            raise InputError(unknown_name(f'no operator "{name}"', name, model.natives.operator_names()))
    return names or None
