"""All missing formulas of PyTorch's own file: ``python -m tests.repairs.missing forward``.

Prints what is written and, grouped by reason, what is not. With ``--write FILE`` the file with all formulas is written,
for ``derivlint check`` and ``derivlint verify --against``.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

from derivlint.analysis.differentiability.coverage import Aspect
from derivlint.lint.edits import edited
from derivlint.model import build_model
from derivlint.project.settings import Settings
from derivlint.repair.judge import Judge
from derivlint.repair.missing import write_missing
from derivlint.rules import load_rules
from derivlint.schema import load_index
from derivlint.source import SourceFile
from tests.conftest import packaged_folder


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(prog="python -m tests.repairs.missing", description=__doc__)
    parser.add_argument("aspect", choices=("backward", "forward", "double-backward"))
    parser.add_argument("--write", type=Path, help="write the file with all formulas")
    arguments = parser.parse_args()
    source = SourceFile.read(packaged_folder() / "autograd" / "derivatives.yaml")
    settings = Settings()
    judge = Judge(source, build_model(source, load_index()), settings.selected(load_rules()), settings.shows)
    suggestions = list(write_missing(judge, Aspect(arguments.aspect)))
    entries: dict[str, list[str]] = defaultdict(list)
    for item in suggestions:
        name = f"{item.target.body.entry.operator} ({item.target.body.key})"
        if name not in entries[item.unsolved]:
            entries[item.unsolved].append(name)
        for accepted in item.candidates:
            print(f"{name}: {item.target.key}: {accepted.candidate.text}")
    for reason, names in sorted(entries.items(), key=lambda pair: -len(pair[1])):
        print(f"\n{len(names)} {f'not written: {reason}' if reason else 'entries written'}\n  {', '.join(names)}")
    if arguments.write is not None:
        edits = {edit for item in suggestions for accepted in item.candidates for edit in accepted.edits}
        arguments.write.write_text(edited(source.text, edits), encoding="utf-8")


if __name__ == "__main__":
    main()
