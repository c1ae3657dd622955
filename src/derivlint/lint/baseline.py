"""A baseline: findings that are known and not shown, until they are gone.

A file of JSON, one finding a line and sorted, so that its changes can be read. It holds no lines and no messages, see
:mod:`derivlint.lint.fingerprint`; equal findings are counted. What it holds and no run finds any more is stale: a
baseline that never shrinks would hide the next mistake of the same kind.
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
#: Longer marked texts are cut and get a digest, so that lines can be read.
MAX_TEXT = 100
#: What is never known: an error of derivlint itself.
NEVER_KNOWN = frozenset({"internal-error"})


class BaselineError(Exception):
    """A text that is not a baseline; ``str()`` says why."""


class Baseline(Struct):
    """Known findings, and which of them a run met.

    Attributes:
        known: how often each finding may occur.
        met: how often each one of them did.
    """

    known: Counter[Identity] = field(default_factory=Counter)
    met: Counter[Identity] = field(default_factory=Counter)

    def unknown(self, diagnostics: Iterable[Diagnostic], source: SourceFile, path: str) -> tuple[Diagnostic, ...]:
        """The diagnostics of a file that are not known; those that are known count as met.

        Args:
            diagnostics: what was found in the file, sorted; of equal findings the first ones are the known ones.
            source: the file.
            path: its name in the baseline.
        """
        found = []
        counts: Counter[Identity] = Counter()
        for diagnostic in diagnostics:
            key = entry_of(diagnostic, source, path)
            counts[key] += 1
            if diagnostic.rule in NEVER_KNOWN or counts[key] > self.known[key]:
                found.append(diagnostic)
        for key in self.known:
            if key.path == path:
                self.met[key] = min(counts[key], self.known[key])
        return tuple(found)

    def stale(
        self, judged: Mapping[str, Callable[[Identity], bool]], exists: Callable[[str], bool]
    ) -> Counter[Identity]:
        """What does not occur any more, as far as the run can tell.

        Args:
            judged: the files that were checked, each with whether the rule of a finding judged what that is about.
            exists: whether a file exists; findings of one that is gone are stale as well.
        """
        found: Counter[Identity] = Counter()
        for key, count in self.known.items():
            is_judged = judged[key.path](key) if key.path in judged else not exists(key.path)
            if is_judged and self.met[key] < count:
                found[key] = count - self.met[key]
        return found

    def updated(self, found: Counter[Identity], stale: Counter[Identity]) -> Baseline:
        """The baseline with what was found in place of what is stale; findings that no run looked for stay.

        Args:
            found: all findings of the checked files that are to be known, those already known as well.
            stale: what does not occur any more.
        """
        kept = self.known - stale
        return Baseline(kept | found)


def entry_of(diagnostic: Diagnostic, source: SourceFile, path: str) -> Identity:
    """What a baseline says of a finding."""
    known = identity(diagnostic, source, path)
    text = known.text
    if len(text) > MAX_TEXT:
        from hashlib import sha256

        digest = sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:12]
        text = f"{text[: MAX_TEXT - 16]}...#{digest}"
    return known._replace(text=text)


def render_baseline(baseline: Baseline) -> str:
    """A baseline as JSON with a line end, one finding a line, sorted."""
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
    """The baseline that a text holds.

    Raises:
        BaselineError: it is none, or one of a version of the format that is not known.
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
    known: Counter[Identity] = Counter()
    for number, row in enumerate(rows, 1):
        known.update(_row(number, row))
    return Baseline(known)


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
