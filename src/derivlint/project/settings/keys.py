"""The keys of ``[tool.derivlint]``: one line each, from which the reader and the JSON schema are made."""

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
        Key("paths", PATHS, "The derivatives files, folders or patterns to check where the command names none."),
        Key("exclude", GLOBS, "Files that are not checked when they are found in a folder or by a pattern."),
        Key("force-exclude", FLAG, "Whether excluded files are not checked even if the command names them."),
        Key("native-functions", PATHS, "Files of native functions, or patterns for them; later ones win."),
        Key("tags", PATH, "The file of tags."),
        Key(
            "pytorch-operators",
            FLAG,
            "Whether native functions add to PyTorch's; those of a whole native_functions.yaml take their place.",
        ),
        Key("headers", PATHS, "C++ headers with functions that formulas call."),
        Key("helper-bodies", PATH, "The C++ source with the bodies of the functions that formulas call."),
        Key("torch", _VERSION, "The PyTorch release whose bundled operators count, or the installed one."),
        Key("preset", one_of(sorted(PRESETS)), "The conventions that a project's derivatives files follow."),
        Key("entries-key", TEXT, "The top-level key that holds the entries, if the file is not a plain list."),
        Key("versions-key", TEXT, "The top-level key with the list of all versions that the file serves."),
        Key("version-key", TEXT, "The key of an entry that says for which of these versions it holds."),
        Key("ignored-keys", TEXTS, "More keys of entries that say nothing of derivatives."),
        Key("overrides", FLAG, "Whether entries take the place of PyTorch's own ones for the same operators."),
        Key("declares-operators", FLAG, "Whether an entry declares its operator where no native functions do."),
        Key(
            "composites", FLAG, "Whether entries of composite operators count; PyTorch's generator has no use for them."
        ),
        Key(
            "operators-elsewhere",
            TEXTS,
            "Patterns of operators that another repository declares; their entries stand for the declarations.",
        ),
        Key("foreach", FLAG, "Whether foreach operators share the formulas of others, as in PyTorch."),
        Key("trailing-semicolons", FLAG, "Whether a formula may end with a semicolon, as before PyTorch 1.8."),
        Key(
            "formulas-in-cpp",
            FLAG,
            "Whether formulas are compiled as C++ with PyTorch's headers; their types are not judged otherwise.",
        ),
        Key("version", TEXT, "The one version that is checked of a file that serves several; all of them by default."),
        Key("select", SELECTORS, "The only rules to run: names, patterns, groups, or ALL."),
        Key("ignore", SELECTORS, "Rules not to run."),
        Key("extend-select", SELECTORS, "Rules to run in addition to the selected ones."),
        Key("preview", FLAG, "Whether rules in preview run as well."),
        Key("severity", SEVERITIES, "How bad findings of a rule are; off turns it off."),
        Key("options", OPTIONS, "Options of rules."),
        Key("per-file-ignores", PATH_IGNORES, "Rules whose findings in some files do not count."),
        Key(
            "per-operator-ignores", OPERATOR_IGNORES, "Rules whose findings in entries of some operators do not count."
        ),
        Key("require-ignore-reason", FLAG, "Whether comments that silence findings must give a reason."),
        Key("baseline", PATH, "A file of findings that are known and not reported."),
        Key("min-severity", enum(Severity), "The lowest severity that is shown."),
        Key("min-confidence", enum(Confidence), "The lowest confidence that is shown."),
        Key("fail-level", enum(Severity), "The lowest severity that makes the command fail."),
    )
}
