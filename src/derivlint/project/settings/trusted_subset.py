"""The trusted subset of an untrusted configuration: stricter settings, and files of the repository.

All other settings could hide findings (disabled rules, skipped files, another interpretation of the file) or read files
outside of the repository.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from derivlint.lint import Confidence, Severity
from derivlint.project.settings.document import SettingsValue
from derivlint.project.untrusted import OPTION, is_inside, repository_of

#: The value of ``torch`` for the installed PyTorch, which is outside of the repository.
_INSTALLED = "installed"


def trusted_subset(
    values: Mapping[str, Any], origins: Mapping[str, SettingsValue], folder: Path
) -> tuple[dict[str, Any], list[str]]:
    """Return the trusted settings, and the names of settings that are ignored at least in part, with their positions.

    Args:
        values: the settings of the configuration, by field.
        origins: their positions; a warning is recorded for each ignored one.
        folder: the folder of the configuration.
    """
    repository = repository_of(folder)
    trusted: dict[str, Any] = {}
    left_out = []
    for field, value in values.items():
        origin = origins[field]
        counts = _TRUSTED_PARTS.get(field, _nothing)(value, repository)
        if counts is not None:
            trusted[field] = counts
        if counts != value:
            left_out.append(f"{origin.key} ({origin.where})")
            origin.warn(f'"{origin.key}" is {"" if counts is None else "partly "}ignored under {OPTION}', key=True)
    return trusted, left_out


def _nothing(value: Any, repository: Path) -> Any:
    return None


def _all(value: Any, repository: Path) -> Any:
    return value


def _files(value: tuple[Path, ...], repository: Path) -> tuple[Path, ...] | None:
    return tuple(path for path in value if is_inside(path, repository)) or None


def _file(value: Path, repository: Path) -> Path | None:
    return value if is_inside(value, repository) else None


def _errors(value: Mapping[str, Severity | None], repository: Path) -> dict[str, Severity] | None:
    return {rule: severity for rule, severity in value.items() if severity is Severity.ERROR} or None


#: The trusted part of each setting, or None; settings that are not listed are ignored.
_TRUSTED_PARTS: dict[str, Callable[[Any, Path], Any]] = {
    "native_functions": _files,
    "headers": _files,
    "helper_bodies": _file,
    "tags": _file,
    "torch": lambda value, _: value if value != _INSTALLED else None,
    "extend_select": _all,
    "preview": lambda value, _: value or None,
    "require_ignore_reason": lambda value, _: value or None,
    "severity": _errors,
    "min_severity": lambda value, _: value if value is Severity.INFO else None,
    "min_confidence": lambda value, _: value if value <= Confidence.HIGH else None,
    "fail_level": lambda value, _: value if value <= Severity.WARNING else None,
}
