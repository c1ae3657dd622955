"""The report of ``derivlint verify --precision``."""

from __future__ import annotations

import json
from typing import Any

from derivlint.cli.shared.exits import CLEAN, warn
from derivlint.cli.shared.output import OutputOptions
from derivlint.cli.shared.terminal import write, write_json
from derivlint.lint.wording import counted
from derivlint.verify.outcome import RunOutcome

#: Fewer units in the last place are what a few roundings make.
WORTH_TELLING = 8.0


def report_precision(outcome: RunOutcome, output: OutputOptions) -> int:
    """Show how precise formulas are, the least precise first; the exit status, which is not a judgement."""
    functions = {item.spec.number: item for item in outcome.functions}
    rows = []
    for item in outcome.measures:
        function = functions[item["precision"]]
        if function.written.auto is None:
            # an automatic forward formula is made of the backward formula, which is measured
            rows.append({"entry": function.spec.operator, "key": function.spec.key, **item})
    for row in rows:
        del row["precision"]
    rows.sort(key=lambda row: (-row["lost"] / row["inputs"], -row["ulps"], row["entry"], row["what"], row["dtype"]))
    if output.format == "json":
        write_json(json.dumps({"version": 1, "precision": rows}, indent=2) + "\n")
    else:
        shown = [row for row in rows if output.verbose or "better" in row or row["lost"] or row["ulps"] > WORTH_TELLING]
        write("".join(f"{_line(row)}\n" for row in shown))
        precise = len(rows) - len(shown)
        if precise:
            warn(f"{counted(precise, 'derivative')} within {WORTH_TELLING:g} units everywhere (--verbose lists them)")
    entries = len({row["entry"] for row in rows})
    warn(f"the precision of {counted(entries, 'entry', 'entries')} was measured")
    _report_double(rows, output)
    for missing in outcome.unchecked():
        if output.verbose and not missing.key:
            warn(str(missing))
    return CLEAN


def _report_double(rows: list[dict[str, Any]], output: OutputOptions) -> None:
    """Report how many double-precision references were compared with mpmath."""
    checked = {row["entry"] for row in rows if "double_inputs" in row}
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row["entry"] not in checked and row["entry"] not in reasons.setdefault(row["double_unchecked"], []):
            reasons[row["double_unchecked"]].append(row["entry"])
    warn(f"double precision was compared with mpmath for {counted(len(checked), 'entry', 'entries')}")
    for reason, names in reasons.items():
        listed = f": {', '.join(names)}" if output.verbose else " (--verbose lists them)"
        warn(f"double precision of {counted(len(names), 'entry', 'entries')} is not checked: {reason}{listed}")


def _line(row: dict[str, Any]) -> str:
    """One derivative in one type."""
    text = f"{row['entry']}, {row['kind']} of {row['what']}, {row['dtype']}: "
    parts = [f"at most {row['ulps']:.4g} units off ({row['ulps_at']})"]
    if row["lost"]:
        parts.append(f"lost at {row['lost']} of {row['inputs']} inputs ({row['lost_at']})")
    if row.get("double_lost") or row.get("double_ulps", 0.0) > WORTH_TELLING:
        lost = (
            f"lost at {row['double_lost']}"
            if row["double_lost"]
            else f"at most {row['double_ulps']:.4g} units off at one"
        )
        parts.append(f"in double precision {lost} of {row['double_inputs']} inputs ({row['double_at']})")
    if "better" in row:
        parts.append(
            f"better on {row['better']}, worse on {row['worse']}; before: {row['ulps_before']:.4g} units, "
            f"{row['lost_before']} lost"
        )
    return text + "; ".join(parts)
