"""The bodies of helpers, for rules that report what is wrong in them at its place there."""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.model import Model
from derivlint.schema.natives import HelperBody
from derivlint.source import SourceFile


def shown_bodies(model: Model) -> Iterator[tuple[SourceFile, str, HelperBody]]:
    """The helpers with known bodies, with their file and name; none of a file whose text may not be shown."""
    bodies = model.natives.bodies
    if bodies is not None and bodies.is_shown:
        for name, functions in bodies.functions.items():
            for body in functions:
                yield bodies.source, name, body
