"""Detect the PyTorch release of a standalone derivatives file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from derivlint.operators.book import DEFAULT_RELEASE, bundled_releases, entries_at, release_number
from derivlint.operators.history import bundled_versions, helper_arities, versions_with_schemas

#: The minimum number of entries of a complete file; PyTorch's have more than 650.
WHOLE = 500


class DetectedRelease(Struct, frozen=True):
    """The bundled release that a file fits best.

    Attributes:
        version: the bundled release.
        matched: the number of the file's schemas in that release.
        total: the number of the file's entries.
        default: the number of the file's schemas in the default release.
    """

    version: str
    matched: int
    total: int
    default: int

    @property
    def is_other(self) -> bool:
        """Whether the file fits a release better than the default one."""
        return self.matched > self.default

    def __str__(self) -> str:
        return f"PyTorch {self.version} ({self.matched} of {self.total} schemas)"


def detected_release(
    schemas: Iterable[str], calls: Callable[[], Iterable[tuple[str, int]]] = tuple
) -> DetectedRelease | None:
    """Detect the bundled release that a derivatives file fits best; None if none has any of its schemas.

    It is the release that declares most of its schemas. Ties go, in this order, to the release with the most similar
    entries, if the file is complete; to the default release; to the release whose helpers match the calls (2.14 and
    2.15 have the same entries, but three helpers take one more argument); and to the newest.

    Args:
        schemas: the schemas in the file's entries, as written.
        calls: returns the called functions with their numbers of arguments; called only for ties.
    """
    written = list(dict.fromkeys(schema.strip() for schema in schemas))
    if not written:
        return None
    counts = versions_with_schemas(written)
    most = max(counts.values(), default=0)
    if not most:
        return None
    names = {schema.partition("(")[0] for schema in written}
    versions = bundled_versions()
    default = next(version for version in versions if release_number(version) == DEFAULT_RELEASE)

    def rank(version: str) -> tuple[int, bool]:
        release = release_number(version)
        assert release is not None
        difference = len(entries_at(release) ^ names) if len(written) >= WHOLE else 0
        return difference, version != default

    ranks = {version: rank(version) for version, count in counts.items() if count == most}
    first = min(ranks.values())
    tied = [version for version in versions if ranks.get(version) == first]
    best = tied[-1] if len(tied) == 1 else _best_called(tied, calls())
    return DetectedRelease(best, most, len(written), counts[default])


def _best_called(versions: Sequence[str], calls: Iterable[tuple[str, int]]) -> str:
    """The release that declares the most called helpers with matching numbers of arguments; the newest of ties."""
    called = frozenset(calls)
    arities = {version: helper_arities(version) for version in versions} if called else {}

    def declared(version: str) -> int:
        return sum(count in arities[version].get(name, ()) for name, count in called) if called else 0

    return max(reversed(versions), key=declared)


def is_older(version: str) -> bool:
    """Whether a back end's version (``v1.11``) is for a PyTorch older than the oldest bundled release."""
    number = release_number(version.removeprefix("v"))
    return number is not None and number < min(bundled_releases())


def release_called(version: str) -> str | None:
    """The bundled release of a back end's version (``v2.7``), or None."""
    major_minor = version.removeprefix("v").split(".")[:2]
    return next((bundled for bundled in bundled_versions() if bundled.split(".")[:2] == major_minor), None)
