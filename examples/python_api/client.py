"""A client of the public API: reports, fixes, reads, emits and differentiates one derivatives file."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import derivlint
from derivlint import Diagnostic, InputError, Model, Report, Severity
from derivlint.formula import Call, walk


def worst(report: Report) -> Severity | None:
    """The highest severity in a report."""
    return max((finding.severity for finding in report.findings), default=None)


def where(report: Report, finding: Diagnostic) -> str:
    """The place of a finding, for people."""
    line, column = report.position(finding)
    return f"{finding.path}:{line}:{column}: {finding.rule}: {finding.full_message}"


def calls(model: Model) -> Counter[str]:
    """How often formulas call each function."""
    trees = (formula.parsed.tree for entry in model.entries for formula in entry.formulas)
    nodes = (node for tree in trees if tree is not None for node in walk(tree) if isinstance(node, Call))
    return Counter(type(node.callee).__name__ for node in nodes)


def main(path: Path) -> int:
    """Do everything once."""
    try:
        report = derivlint.check(path, settings={"min-severity": "warning"}, operators="2.13")
        print(worst(report), *(where(report, finding) for finding in report.findings), sep="\n")
        fixed = derivlint.fix(path, unsafe=True)
        print(len(fixed.fixed), len(fixed.report.findings), calls(derivlint.load_model(path)).most_common(3))
        code = derivlint.emit(fixed.text, ops=["sin"], target="python", allow_errors=True)
        print(code.operators, *code.files)
        print(derivlint.derive("sin(x)", wrt=["x"], order=2, file=fixed.text))
    except InputError as error:
        print(*error.messages, sep="\n", file=sys.stderr)
        return 2
    return report.exit_status


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
