"""Derivatives files with their operators and models, as commands and the Python API load them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from derivlint.lint.wording import did_you_mean
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
        folder: where it is; None for a text that is in no folder.
        model: its model.
        operators: the operators that it is read against.
        settings: what is configured for it.
    """

    source: SourceFile
    folder: Path | None
    model: Model
    operators: LoadedOperators
    settings: Settings

    def with_options(self, **options: Any) -> Loaded:
        """Load the file again, with options as of a command line; operators of the user stay."""
        settings = self.settings
        if "torch" in options:
            options = {"native_functions": settings.native_functions, "tags": settings.tags, **options}
        return load_source(self.source, self.folder, settings.overridden(**options))

    def with_all_declared(self) -> Loaded:
        """Return the same file, whose formulas can call nothing but what is declared, as where they are compiled."""
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
        folder: where it is; None for a text that is in no folder.
        settings: what is configured for it.
        load: loads operators, and caches them.

    Raises:
        InputError: operators cannot be read, or the file does not serve the selected version.
    """
    from derivlint.project.check import model_of

    operators = load(resolve_release(operators_for(folder, settings), source, load))
    return Loaded(source, folder, model_of(source, operators.natives, settings), operators, settings)


def require_names(model: Model, names: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return names of operators, or None for all of them, which no name or "*" means; "all" is an operator.

    Raises:
        InputError: there is no operator of a name.
    """
    if "*" in names:
        return None
    for name in names:
        functions = model.natives.operator(name) if "." in name else model.natives.named(name)
        if not functions and not model.natives.with_base(name):
            question = did_you_mean(name, model.natives.operator_names())
            raise InputError(f'no operator "{name}"' + (f"; {question}" if question else ""))
    return names or None
