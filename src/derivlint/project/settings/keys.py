"""The keys of ``[tool.derivlint]``, from which the reader, the JSON schema and the documentation are made."""

from __future__ import annotations

from msgspec import Struct

from derivlint.lint import Confidence, Severity
from derivlint.project.presets import PRESETS
from derivlint.project.settings.kinds import (
    FLAG,
    GLOBS,
    OPERATOR_IGNORES,
    OPTIONS,
    PATH,
    PATH_IGNORES,
    PATHS,
    SELECTORS,
    SEVERITIES,
    TEXT,
    TEXTS,
    ValueKind,
    enum,
    one_of,
)


class Key(Struct, frozen=True):
    """A key of the configuration.

    Attributes:
        name: the key; the field of ``Settings`` is called the same, with underscores.
        kind: what values it takes.
        doc: what it does, one sentence.
    """

    name: str
    kind: ValueKind
    doc: str

    @property
    def field(self) -> str:
        """The field of ``Settings`` that it fills."""
        return self.name.replace("-", "_")


_VERSION = ValueKind('a version, or "installed"', TEXT.convert, TEXT.schema)

KEYS: dict[str, Key] = {
    key.name: key
    for key in (
        Key("paths", PATHS, "Derivatives files, folders or patterns to check if the command names none."),
        Key("exclude", GLOBS, "Files to skip in folders and patterns."),
        Key("force-exclude", FLAG, "Whether excluded files are skipped even if the command names them."),
        Key("native-functions", PATHS, "Files or patterns of files like native_functions.yaml; later ones win."),
        Key("tags", PATH, "The tags.yaml of the operators."),
        Key(
            "pytorch-operators",
            FLAG,
            "Whether declared operators extend PyTorch's; a complete native_functions.yaml replaces them.",
        ),
        Key("headers", PATHS, "C++ headers with functions that formulas call."),
        Key("helper-bodies", PATH, "The C++ source with the bodies of the functions that formulas call."),
        Key("torch", _VERSION, "The PyTorch release whose operators are used, or the installed one."),
        Key("preset", one_of(sorted(PRESETS)), "The conventions of a project's derivatives files."),
        Key("entries-key", TEXT, "The top-level key of the entries, if the file is not a plain list."),
        Key("versions-key", TEXT, "The top-level key of the list of versions."),
        Key("version-key", TEXT, "The key of an entry that names its versions."),
        Key("ignored-keys", TEXTS, "Additional keys of entries, without effect on derivatives."),
        Key("replaces-pytorch", FLAG, "Whether entries replace PyTorch's entries of the same operators."),
        Key("declares-operators", FLAG, "Whether an entry declares its operator if nothing else does."),
        Key("composites", FLAG, "Whether entries of composite operators are used; PyTorch's generator ignores them."),
        Key(
            "external-operators",
            TEXTS,
            "Patterns of operators declared in another repository; entries replace their declarations.",
        ),
        Key("foreach", FLAG, "Whether foreach operators share the formulas of their scalar operators, as in PyTorch."),
        Key("trailing-semicolons", FLAG, "Whether a formula may end with a semicolon, as before PyTorch 1.8."),
        Key(
            "formulas-in-cpp",
            FLAG,
            "Whether formulas are C++ compiled with PyTorch's headers; otherwise types are not checked.",
        ),
        Key("version", TEXT, "The version to check of a file with several. Default: all."),
        Key("select", SELECTORS, "The only rules to run: names, patterns, groups, or ALL."),
        Key("ignore", SELECTORS, "Rules not to run."),
        Key("extend-select", SELECTORS, "Rules to run in addition to the selected ones."),
        Key("preview", FLAG, "Whether preview rules run as well."),
        Key("severity", SEVERITIES, "The severity of each rule: error, warning, info, or off."),
        Key("options", OPTIONS, "Options of rules."),
        Key("per-file-ignores", PATH_IGNORES, "Rules to ignore in files that match a pattern."),
        Key("per-operator-ignores", OPERATOR_IGNORES, "Rules to ignore in entries of operators that match a pattern."),
        Key("require-ignore-reason", FLAG, "Whether comments that suppress findings must state a reason."),
        Key("baseline", PATH, "A file of findings not to report."),
        Key("min-severity", enum(Severity), "The lowest severity to report."),
        Key("min-confidence", enum(Confidence), "The lowest confidence to report."),
        Key("fail-level", enum(Severity), "The lowest severity that makes the command fail."),
    )
}

#: Former names of keys, which work for a release, with their present names.
FORMER = {"operators-elsewhere": "external-operators", "overrides": "replaces-pytorch"}
