"""Baselines: known findings that are not shown.

A baseline is a sorted JSON file with one finding per line, so that diffs are readable. It has no line numbers and
messages, see :mod:`derivlint.lint.fingerprint`; equal findings are counted. A row without a current finding is stale: a
baseline that never shrinks would hide new findings of the same kind.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from derivlint.lint.diagnostic import Diagnostic
from derivlint.lint.fingerprint import Identity, identity
from derivlint.source import SourceFile

VERSION = 1
#: The maximum length of marked text; longer ones are truncated and get a digest.
MAX_TEXT = 100
#: Rules whose findings cannot be in a baseline: errors of derivlint itself.
NEVER_KNOWN = frozenset({"internal-error"})


class BaselineError(Exception):
    """The text is not a baseline."""


class Baseline(Struct):
    """Known findings, and the occurrences that a run matched.

    Attributes:
        known: the number of occurrences of each finding.
        met: the number of occurrences of each finding in the run.
    """

    known: Counter[Identity] = field(default_factory=Counter)
    met: Counter[Identity] = field(default_factory=Counter)

    def unknown(self, diagnostics: Iterable[Diagnostic], source: SourceFile, path: str) -> tuple[Diagnostic, ...]:
        """Return the diagnostics of a file that are not in the baseline; count the others as matched.

        Args:
            diagnostics: the findings in the file, sorted; the first of equal ones are known.
            source: the file.
            path: its name in the baseline.
        """
        unknown = []
        counts: Counter[Identity] = Counter()
        for diagnostic in diagnostics:
            key = entry_of(diagnostic, source, path)
            counts[key] += 1
            if diagnostic.rule in NEVER_KNOWN or counts[key] > self.known[key]:
                unknown.append(diagnostic)
        for key in self.known:
            if key.path == path:
                self.met[key] = min(counts[key], self.known[key])
        return tuple(unknown)

    def stale(
        self, judged: Mapping[str, Callable[[Identity], bool]], exists: Callable[[str], bool]
    ) -> Counter[Identity]:
        """Count the known findings that are gone, among those whose rule and entry were checked.

        Args:
            judged: the checked files, each with a predicate: whether a finding's rule judged its entry.
            exists: whether a file exists; findings in missing files are stale.
        """
        gone: Counter[Identity] = Counter()
        for key, count in self.known.items():
            is_judged = judged[key.path](key) if key.path in judged else not exists(key.path)
            if is_judged and self.met[key] < count:
                gone[key] = count - self.met[key]
        return gone

    def updated(self, current: Counter[Identity], stale: Counter[Identity]) -> Baseline:
        """Replace stale findings by current ones; findings of rules that did not run stay.

        Args:
            current: all findings of the checked files, known or not.
            stale: the known findings that are gone.
        """
        return Baseline((self.known - stale) | current)


def entry_of(diagnostic: Diagnostic, source: SourceFile, path: str) -> Identity:
    """Make the row of a finding."""
    row = identity(diagnostic, source, path)
    text = row.text
    if len(text) > MAX_TEXT:
        from hashlib import sha256

        digest = sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:12]
        text = f"{text[: MAX_TEXT - 16]}...#{digest}"
    return row._replace(text=text)


def render_baseline(baseline: Baseline) -> str:
    """Render a baseline as sorted JSON, one finding per line."""
    rows = []
    for key, count in sorted(baseline.known.items()):
        row: dict[str, Any] = {name: value for name, value in key._asdict().items() if value}
        if count > 1:
            row["count"] = count
        rows.append(json.dumps(row, ensure_ascii=False))
    listed = ",\n".join(f"  {row}" for row in rows)
    findings = f"[\n{listed}\n ]" if rows else "[]"
    return f'{{\n "version": {VERSION},\n "findings": {findings}\n}}\n'


def read_baseline(text: str) -> Baseline:
    """Parse a baseline.

    Raises:
        BaselineError: the text is not a baseline, or of an unknown format version.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"it is not JSON: {error}") from error
    if not isinstance(content, dict) or "version" not in content:
        raise BaselineError('it has no "version"')
    if content["version"] != VERSION:
        raise BaselineError(f"it has version {json.dumps(content['version'])}, this derivlint knows version {VERSION}")
    rows = content.get("findings")
    if not isinstance(rows, list):
        raise BaselineError('it has no list "findings"')
    counts: Counter[Identity] = Counter()
    for number, row in enumerate(rows, 1):
        counts.update(_row(number, row))
    return Baseline(counts)


def _row(number: int, row: object) -> dict[Identity, int]:
    fields = Identity._fields
    if not isinstance(row, dict):
        raise BaselineError(f"finding {number} is not an object")
    for name, value in row.items():
        if name not in (*fields, "count"):
            raise BaselineError(f'finding {number} has an unknown key "{name}"')
        if name == "count":
            if type(value) is not int or value < 1:
                raise BaselineError(f'"count" of finding {number} is not a positive number')
        elif not isinstance(value, str):
            raise BaselineError(f'"{name}" of finding {number} is not a text')
    if not row.get("path") or not row.get("rule"):
        raise BaselineError(f'finding {number} has no "path" or no "rule"')
    return {Identity(*(row.get(name, "") for name in fields)): row.get("count", 1)}
