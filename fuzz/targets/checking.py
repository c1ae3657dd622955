"""Checking and fixing a text, and using what was stored of an earlier check."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from random import Random

from derivlint.cpp.declarations.header import read_declarations
from derivlint.formats import Report
from derivlint.formats.registry import FORMATS
from derivlint.lint import Diagnostic, Rule
from derivlint.lint.fixing import fixable
from derivlint.project.caching.cache import cache_folder, sealed
from derivlint.project.caching.result_cache import cache_entry_of, stored_findings
from derivlint.project.check import CheckedFile, check_source
from derivlint.project.filtering.findings import filter_findings
from derivlint.project.fixing import fix_source
from derivlint.project.headers import merged, read_headers
from derivlint.project.operators import operators_for
from derivlint.project.settings import Settings
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions, load_index
from derivlint.source import SourceFile
from fuzz.generators import comments, derivatives, stored
from fuzz.oracle import check_diagnostics
from fuzz.output_oracle import check_format
from fuzz.target import Target, require
from fuzz.targets.workplace import workplace

PATH = "derivatives.yaml"
SETTINGS = Settings(preview=True)
#: The formats that are made of every outcome; all of them would take longer than the check.
_RENDERED = ("json", "github", "text", "sarif", "junit", "concise", "gitlab", "rdjson")


@cache
def natives() -> NativeFunctions:
    """The bundled operators."""
    return load_index()


@cache
def rules() -> tuple[Rule, ...]:
    """All rules, those in preview as well."""
    return SETTINGS.selected(load_rules())


def _checked(source: SourceFile) -> CheckedFile:
    checked = check_source(source, natives(), SETTINGS, rules())
    check_diagnostics(source, checked.unfiltered)
    return checked


def _rendered(source: SourceFile, shown: tuple[Diagnostic, ...], name: str) -> str:
    text = FORMATS[name].render(Report(shown, {source.path: source}, 1, 1))
    # as it is written to standard output and into files
    text = text.encode("utf-8", "backslashreplace").decode()
    check_format(name, text, {source.path: source})
    return text


def check(data: bytes) -> object:
    """Any bytes have findings; all lie in the text, and can be printed."""
    source = SourceFile.from_bytes(PATH, data)
    checked = _checked(source)
    name = _RENDERED[len(data) % len(_RENDERED)]
    return _rendered(source, checked.shown, name)


def fix(data: bytes) -> object:
    """A fixed text can be read, has no new errors, and nothing is left to fix in it."""
    source = SourceFile.from_bytes(PATH, data)
    unsafe = len(data) % 2 == 0
    fixed = fix_source(source, _checked, unsafe=unsafe)
    if not fixed.changed:
        return None
    # a text that is written is what is read again
    require(fixed.text.encode().decode() == fixed.text, "a fixed text that cannot be written")
    again = _checked(fixed.result)
    require(not again.model.document.problems, "a fixed text that is not YAML", fixed.text)
    # after the limit of passes and trials, the next run goes on
    if not (fixed.dropped or fixed.untried):
        twice = fix_source(fixed.result, _checked, unsafe=unsafe)
        left = [item.rule for item in again.shown if fixable(item, unsafe)]
        require(not twice.changed, "fixes that are not idempotent", (left, fixed.text, twice.text))
    return fixed.text


def use_stored_findings(data: bytes) -> object:
    """Whatever is stored as findings is refused, or can be judged and printed."""
    source = SourceFile(PATH, "- name: sin(Tensor self) -> Tensor\n  self: grad * slef\n")
    place = cache_entry_of(source, operators_for(workplace().folder, SETTINGS), SETTINGS)
    assert place is not None
    _store(place.file, data)
    findings = stored_findings(place, PATH)
    if findings is None:
        return None
    outcome = filter_findings(findings, source, SETTINGS)
    return [_rendered(source, outcome.shown, name) for name in ("text", "json-lines")]


def _store(path: Path, data: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(0o600)


_HEADER = "Tensor f(const Tensor& grad, int a = 1);\ntemplate <class T> struct S { T x; };\nenum class E { A };\n"


@cache
def _declarations() -> str:
    return json.dumps([read_declarations(_HEADER).declarations.to_json(), []])


def stored_header(rng: Random) -> bytes:
    """Stored declarations, changed."""
    return stored.declarations(rng, json.loads(_declarations()))


def use_stored_header(data: bytes) -> object:
    """Whatever is stored as declarations, a check uses it or makes it again; a damaged cache is never an error."""
    place = workplace()
    path = place.folder / "own.h"
    path.write_text(_HEADER, encoding="utf-8")
    read_headers([path], use_cache=True)
    folder = cache_folder()
    assert folder is not None
    for entry in folder.glob("header-*"):
        _store(entry, sealed(data))
    try:
        headers = read_headers([path], use_cache=True)
        declared = merged([header.declarations for header in headers])
        known = natives().with_declarations(declared, complete=False).with_header_problems(headers[0].problems)
        source = SourceFile(PATH, "- name: sin(Tensor self) -> Tensor\n  self: f(grad, 1) + S<int>(E::A)\n")
        check_diagnostics(source, check_source(source, known, SETTINGS, rules()).unfiltered)
    finally:
        path.unlink()
        for entry in folder.glob("header-*"):
            entry.unlink()
    return None


TARGETS = (
    Target("check", 1000, derivatives.file_bytes, check),
    Target("comments", 500, comments.commented_bytes, check),
    Target("fix", 120, derivatives.file_bytes, fix, seconds=6.0),
    Target("stored-findings", 1100, stored.findings, use_stored_findings),
    Target("stored-header", 12, stored_header, use_stored_header),
)
