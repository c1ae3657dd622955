"""Rules: modules with a docstring, cases and one ``check``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from derivlint.lint.diagnostic import Confidence, Finding, Severity
from derivlint.lint.engine.depth import AnalysisDepth
from derivlint.lint.engine.precedence import SupersededBy
from derivlint.lint.option import Group, Option, Options, OptionValue

if TYPE_CHECKING:
    # imported for types only: listing rules needs no model
    from derivlint.cpp.problem import TypeProblemKind

#: The subject of a check: the file, an entry, the formulas of a dispatch key, a formula with its key, a node of a
#: formula, a type problem, or the suppressions.
Target = Literal["model", "entry", "body", "formula", "node", "problem", "suppressions"]


class Check(Struct, frozen=True):
    """The check of a rule, as :func:`derivlint.lint.judging.judges` registers it.

    Attributes:
        target: its subject.
        needs: its further arguments: ``model``, ``options``.
        kinds: the kinds of nodes or problems that it checks.
        find: the function.
    """

    target: Target
    needs: tuple[str, ...]
    kinds: tuple[TypeProblemKind | type, ...]
    find: Callable[..., Iterable[Finding]]


class RuleMeta(Struct, frozen=True):
    """The metadata of a rule.

    Attributes:
        severity: the severity of its findings, if they have none of their own.
        group: its topic, one of ``GROUPS``.
        confidence: the confidence of its findings.
        since: the first version of derivlint with it.
        checks: the ids of the torchgen checks, or missing checks, that it covers.
        status: ``stable``, or ``preview`` for a rule that must be enabled explicitly.
        options: its options; its ``check`` takes their values as its last argument.
        reads: the depth of analysis that it needs; entries that do not allow it count as not judged.
        compares: whether its findings in an entry may depend on other entries.
        yields_to: the rules whose findings supersede its own, see :mod:`derivlint.lint.engine.precedence`.
    """

    severity: Severity
    group: Group
    confidence: Confidence = Confidence.HIGH
    since: str = "0.1.0"
    checks: tuple[str, ...] = ()
    status: str = "stable"
    options: tuple[Option, ...] = ()
    reads: AnalysisDepth = AnalysisDepth.FORM
    compares: bool = False
    yields_to: tuple[SupersededBy, ...] = ()


#: A placeholder for the first example of a rule's docstring.
EXAMPLE = "# example\n"


class Invalid(Struct, frozen=True):
    """A text with exactly one finding of the rule.

    Attributes:
        yaml: the text; by default the first example of the docstring.
        at: the span, ``line:column-endcolumn`` or ``line:column-endline:endcolumn``.
        message: the message.
        help: the help; not compared if None.
        fixed: the text after the fix, or only the line of the span if it has no line end; None without a fix.
        natives: native functions in addition to the bundled index.
        header: a C++ header in addition to PyTorch's; ``at`` is a span in it.
        bodies: a C++ source with the bodies of functions; ``at`` is a span in it.
        also: other rules with errors in the same text.
    """

    yaml: str = EXAMPLE
    at: str = ""
    message: str = ""
    help: str | None = None
    fixed: str | None = None
    natives: str | None = None
    header: str | None = None
    bodies: str | None = None
    also: tuple[str, ...] = ()

    def written_out(self, example: str) -> Invalid:
        """Fill in all defaults of the case.

        Args:
            example: the first example of the rule's docstring.
        """
        yaml, fixed = example if self.yaml == EXAMPLE else self.yaml, self.fixed
        if fixed is not None and not fixed.endswith("\n"):
            lines = yaml.splitlines(keepends=True)
            lines[int(self.at.partition(":")[0]) - 1] = f"{fixed}\n"
            fixed = "".join(lines)
        return replace(self, yaml=yaml, fixed=fixed)


class Rule(Struct, frozen=True, dict=True):
    """A loaded rule.

    Attributes:
        name: its name, the file's name in kebab case.
        summary: the first line of its docstring.
        doc: the whole docstring.
        meta: its metadata.
        target: the subject of its check, see :data:`Target`.
        check: the function of the check.
        valid: texts without findings, including those under "Instead" in its docstring.
        invalid: texts with one finding each.
        options: the values of its options.
        needs: the further arguments of the check.
        kinds: the kinds of nodes or problems to check; empty for all.
    """

    name: str
    summary: str
    doc: str
    meta: RuleMeta
    target: Target
    check: Callable[..., Iterable[Finding]]
    valid: tuple[str, ...]
    invalid: tuple[Invalid, ...]
    options: Options = field(default=Options())
    needs: tuple[str, ...] = ()
    kinds: tuple[TypeProblemKind | type, ...] = ()

    @property
    def fixable(self) -> bool:
        """Whether any finding of the rule has a fix."""
        return any(case.fixed is not None for case in self.invalid)

    @property
    def reads(self) -> AnalysisDepth:
        """The depth of analysis that the rule needs."""
        return self.meta.reads

    def bound(self, model: object) -> tuple[Callable[..., Iterable[Finding]], tuple[object, ...]]:
        """The function of the check with its further arguments."""
        if not self.needs:
            return self.check, ()
        return self.check, tuple(model if name == "model" else self.options for name in self.needs)

    def configured(self, values: Mapping[str, OptionValue]) -> Rule:
        """A copy of the rule with other values for some options."""
        return replace(self, options=self.options.changed(values)) if values else self


def rule_from_module(name: str, module: ModuleType) -> Rule:
    """Load the rule defined in a module."""
    doc = module.__doc__ or ""
    example = next(iter(doc_examples(doc, "Example")), "")
    check: Check = module.check
    meta: RuleMeta = module.META
    return Rule(
        name=name,
        summary=doc.strip().splitlines()[0].rstrip("."),
        doc=doc,
        meta=meta,
        target=check.target,
        check=check.find,
        valid=(*doc_examples(doc, "Instead"), *module.VALID),
        invalid=tuple(case.written_out(example) for case in module.INVALID),
        options=Options.of(meta.options),
        needs=check.needs,
        kinds=check.kinds,
    )


def doc_examples(doc: str, title: str) -> list[str]:
    """The indented texts in a section of a rule's docstring."""
    section = doc.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    examples: list[str] = []
    lines: list[str] = []
    for line in [*section.splitlines(), "end"]:
        if line.startswith("    ") or (lines and not line.strip()):
            lines.append(line[4:])
        elif lines:
            examples.append("\n".join(lines).rstrip("\n") + "\n")
            lines = []
    return examples
