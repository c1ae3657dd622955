"""The settings of a file, from its configuration and the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

import derivlint.rules
from derivlint.lint import Confidence, Diagnostic, OptionValue, Rule, Severity
from derivlint.model import PLAIN, Layout
from derivlint.project.globs import PathGlob
from derivlint.project.settings.document import SettingsValue
from derivlint.project.settings.kinds import PRESETS, merged
from derivlint.project.settings.selection import Selection, any_matches, matches, selected, specificity
from derivlint.source.records import KeyedEquality

COMMAND_LINE = "the command line"
DEFAULT = "default"
#: The fields that determine the sources of operators together.
OPERATORS = ("torch", "native_functions", "tags")


class Settings(KeyedEquality, Struct, frozen=True):
    """The settings of a file.

    Attributes:
        origin: the configuration file, or None.
        operators_from: the source of the settings for operators: the configuration file or the command line.
        origins: the origins of fields that are not the default.
        paths: the derivatives files to check if the command names none.
        exclude: files to skip in folders and patterns.
        force_exclude: whether excluded files are skipped even if the command names them.
        native_functions: files of native functions.
        tags: the file of tags.
        pytorch_operators: whether native functions that are not a complete native_functions.yaml are added to
            PyTorch's.
        headers: C++ headers with functions that formulas call.
        helper_bodies: the C++ source with the bodies of functions that formulas call.
        torch: a version of the bundled index, or ``installed``.
        preset: the conventions that the files follow.
        entries_key: the top-level key of the entries, see :class:`derivlint.model.Layout`; the default of this and the
            following fields is the preset's.
        versions_key: the top-level key of all versions.
        version_key: the key of an entry's versions.
        ignored_keys: more keys of entries that do not concern derivatives.
        replaces_pytorch: whether entries replace PyTorch's.
        declares_operators: whether entries declare operators that no other file does.
        composites: whether entries of composite operators are used.
        external_operators: patterns of operators declared in another repository.
        foreach: whether foreach operators share formulas.
        trailing_semicolons: whether a formula may end with a semicolon.
        formulas_in_cpp: whether formulas are compiled as C++.
        version: the version to check of a file for several.
        selections: the selections of rules, the one of lowest precedence first.
        preview: whether rules in preview run.
        severity: the severities of rules, by selector; None disables a rule.
        options: values of options, by rule and option.
        per_file_ignores: rules to ignore, by pattern of files.
        per_operator_ignores: rules to ignore, by pattern of operators.
        require_ignore_reason: whether suppression comments must have a reason.
        baseline: the file of known findings, which are not reported.
        min_severity: the lowest severity shown.
        min_confidence: the lowest confidence shown.
        fail_level: the lowest severity that makes the command fail.
        untrusted: whether the repository is not trusted.
        untrusted_settings: the ignored settings of an untrusted repository, with their positions.
    """

    origin: Path | None = None
    operators_from: str = ""
    origins: Mapping[str, tuple[SettingsValue | str, ...]] = field(default_factory=dict)
    paths: tuple[Path, ...] = ()
    exclude: tuple[PathGlob, ...] = ()
    force_exclude: bool = False
    native_functions: tuple[Path, ...] = ()
    tags: Path | None = None
    pytorch_operators: bool = True
    headers: tuple[Path, ...] = ()
    helper_bodies: Path | None = None
    torch: str | None = None
    preset: str | None = None
    entries_key: str | None = None
    versions_key: str | None = None
    version_key: str | None = None
    ignored_keys: tuple[str, ...] = ()
    replaces_pytorch: bool | None = None
    declares_operators: bool | None = None
    composites: bool | None = None
    external_operators: tuple[str, ...] = ()
    foreach: bool | None = None
    trailing_semicolons: bool | None = None
    formulas_in_cpp: bool | None = None
    version: str | None = None
    selections: tuple[Selection, ...] = ()
    preview: bool = False
    severity: Mapping[str, Severity | None] = field(default_factory=dict)
    options: Mapping[str, Mapping[str, OptionValue]] = field(default_factory=dict)
    per_file_ignores: Mapping[PathGlob, tuple[str, ...]] = field(default_factory=dict)
    per_operator_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    require_ignore_reason: bool = False
    baseline: Path | None = None
    min_severity: Severity = Severity.INFO
    min_confidence: Confidence = Confidence.HIGH
    fail_level: Severity = Severity.WARNING
    untrusted: bool = False
    untrusted_settings: tuple[str, ...] = ()

    def identity(self) -> tuple[Any, ...]:
        """All fields except the origins."""
        return tuple(getattr(self, name) for name in self.__struct_fields__ if name != "origins")

    def overridden(self, **options: Any) -> Settings:
        """Return the settings overridden by options of the command line."""
        values = {name: value for name, value in options.items() if value not in (None, ())}
        return self.with_layer(values, dict.fromkeys(values, COMMAND_LINE), COMMAND_LINE)

    def with_layer(self, values: Mapping[str, Any], origins: Mapping[str, SettingsValue | str], name: str) -> Settings:
        """Return the settings overridden by those of a source of higher precedence.

        Args:
            values: the values of the source by field, with ``select``, ``ignore`` and ``extend_select``.
            origins: the position of each value.
            name: the name of the source in messages.
        """
        fields = dict(values)
        all_origins = dict(self.origins)
        if "torch" in fields or "native_functions" in fields:
            # operators of two sources are not combined
            fields = {"torch": None, "native_functions": (), "tags": None, **fields, "operators_from": name}
            for operators in OPERATORS:
                all_origins.pop(operators, None)
        off = [selector for selector, severity in fields.get("severity", {}).items() if severity is None]
        selection = Selection(
            fields.pop("select", ()), (*fields.pop("ignore", ()), *off), fields.pop("extend_select", ())
        )
        if selection != Selection():
            fields["selections"] = (*self.selections, selection)
        for key in ("severity", "options", "per_file_ignores", "per_operator_ignores"):
            if key in fields:
                fields[key] = merged(getattr(self, key), fields[key])
        for key, origin in origins.items():
            adds = key in _ADDING and key in all_origins
            all_origins[key] = (*all_origins[key], origin) if adds else (origin,)
        if selection.select:
            for key in ("ignore", "extend_select"):
                if key not in origins:
                    all_origins.pop(key, None)
        return replace(self, origins=all_origins, **fields)

    @property
    def layout(self) -> Layout | None:
        """The layout of the files, or None to detect it for each file."""
        layout = PRESETS[self.preset].layout if self.preset is not None else PLAIN
        overrides = {
            "entries": self.entries_key,
            "versions": self.versions_key,
            "version": self.version_key,
            "ignored": frozenset(self.ignored_keys) | layout.ignored,
            "overrides": self.replaces_pytorch,
            "declares": self.declares_operators,
            "composites": self.composites,
            "elsewhere": (*layout.elsewhere, *self.external_operators),
            "foreach": self.foreach,
            "semicolons": self.trailing_semicolons,
            "cpp": self.formulas_in_cpp,
        }
        changes: dict[str, Any] = {name: value for name, value in overrides.items() if value is not None}
        changed = replace(layout, **changes)
        return None if self.preset is None and changed == PLAIN else changed

    def origin_of(self, name: str) -> str:
        """Return the origin of a field's value: ``pyproject.toml:3:1``, ``the command line``, ..., or ``default``."""
        origins = self.origins.get(name, ())
        return ", ".join(item if isinstance(item, str) else item.where for item in origins) or DEFAULT

    def shows(self, diagnostic: Diagnostic) -> bool:
        """Whether a diagnostic is shown."""
        return diagnostic.severity >= self.min_severity and diagnostic.confidence >= self.min_confidence

    def shown(self, diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
        """Return the diagnostics that are shown."""
        severities = [severity for severity in Severity if severity >= self.min_severity]
        confidences = [confidence for confidence in Confidence if confidence >= self.min_confidence]
        return tuple([item for item in diagnostics if item.severity in severities and item.confidence in confidences])

    def selected(self, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        """Return the rules that run, with their options."""
        selections = self.selections
        if self.require_ignore_reason:
            selections = (Selection(extend_select=("suppression-without-reason",)), *selections)
        chosen = selected(rules, selections, self.preview)
        if not self.options:
            return chosen
        return tuple(rule.configured(self.options.get(rule.name, {})) for rule in chosen)

    def adjusted(self, diagnostics: tuple[Diagnostic, ...], path: str) -> tuple[Diagnostic, ...]:
        """Apply the configured severities to the findings of a file, and drop ignored ones.

        Args:
            diagnostics: the findings.
            path: the file, for the patterns of ``per-file-ignores``.
        """
        if self.severity:
            diagnostics = tuple(self._with_severity(item) for item in diagnostics)
        ignored: list[str] = []
        if self.per_file_ignores:
            file = Path(path).resolve()
            ignored = [name for glob, names in self.per_file_ignores.items() if glob.matches(file) for name in names]
        # findings that belong to no rule can only be dropped here
        extra = derivlint.rules.EXTRA_FINDINGS
        left_out = {rule for rule in extra if any(any_matches(part.ignore, rule) for part in self.selections)}
        if not ignored and not self.per_operator_ignores and not left_out:
            return diagnostics
        return tuple(
            item
            for item in diagnostics
            if not any_matches(ignored, item.rule)
            and item.rule not in left_out
            and not any(
                item.entry is not None and fnmatchcase(item.entry, pattern) and any_matches(names, item.rule)
                for pattern, names in self.per_operator_ignores.items()
            )
        )

    def _with_severity(self, diagnostic: Diagnostic) -> Diagnostic:
        """Return the diagnostic with the severity of the most specific selector, the last of equal ones."""
        if diagnostic.rule not in derivlint.rules.NAMES and diagnostic.rule not in derivlint.rules.EXTRA_FINDINGS:
            return diagnostic
        selectors = [selector for selector in self.severity if matches(selector, diagnostic.rule)]
        # sorting is stable; a disabled rule runs only if the command line selects it
        severity = self.severity[sorted(selectors, key=specificity)[-1]] if selectors else None
        return diagnostic if severity is None else replace(diagnostic, severity=severity)

    def excludes(self, path: Path) -> bool:
        """Whether a file, an absolute path, is excluded."""
        return any(glob.matches(path) for glob in self.exclude)


#: Fields that a source of higher precedence extends instead of replacing.
_ADDING = frozenset({"ignore", "extend_select", "severity", "options", "per_file_ignores", "per_operator_ignores"})
