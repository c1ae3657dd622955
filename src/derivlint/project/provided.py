"""The derivatives file that stands in where a command needs entries and no file is named or found."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from derivlint.project.operators import INSTALLED
from derivlint.schema import InstalledTorch, installed_torch

#: Entries of our own, for a machine without PyTorch, whose file is not ours to ship.
EXAMPLE = Path(__file__).parent.parent / "examples" / "derivatives.yaml"


class Provided(Struct, frozen=True):
    """A file that no one named.

    Attributes:
        path: the file.
        description: what it is, for messages.
        torch: where its operators come from, as the option ``--torch`` says it; None for those of a lone file.
    """

    path: Path
    description: str
    torch: str | None = None

    @property
    def note(self) -> str:
        """Which file is taken, and how to choose another one; one line."""
        return (
            f"no derivatives file is named or found: using {self.description}, {self.path}; name a file to use another"
        )


def provided_file() -> Provided:
    """The file of the installed PyTorch, which is not imported; without one, the example that derivlint ships."""
    torch = installed_torch()
    if torch is None or torch.derivatives is None:
        return Provided(EXAMPLE, "derivlint's example (no PyTorch is installed)")
    description = "the one of the installed PyTorch" + (f" {torch.version}" if torch.version is not None else "")
    return Provided(torch.derivatives, description, _operators_of(torch))


def _operators_of(torch: InstalledTorch) -> str:
    """The release of a PyTorch where the index has it, which is faster than reading the files of the PyTorch."""
    from derivlint.operators.book import bundled_releases, release_number

    release = release_number(torch.release)
    return ".".join(map(str, release)) if release is not None and release in bundled_releases() else INSTALLED
