"""Settings: which configuration counts for a file, what it may hold, and what is said of mistakes in it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import derivlint.rules
from derivlint.lint import Confidence, Severity
from derivlint.model import LAYOUTS, Layout
from derivlint.project.errors import InputError
from derivlint.project.globs import PathGlob
from derivlint.project.settings import ConfigurationError, Settings, find_settings
from derivlint.project.settings.document import load_toml
from derivlint.project.settings.keys import KEYS
from derivlint.project.settings.selection import Selection
from tests.cli.conftest import SIN, Run

EVERY_KEY = """\
paths = ["p"]
exclude = ["old"]
force-exclude = true
native-functions = ["n.yaml", "/m.yaml"]
tags = "t.yaml"
pytorch-operators = false
headers = ["h.h"]
helper-bodies = "b.cpp"
torch = "installed"
preset = "torch_npu"
entries-key = "entries"
versions-key = "versions"
version-key = "for"
ignored-keys = ["owner"]
replaces-pytorch = false
declares-operators = true
composites = true
external-operators = ["far_*"]
foreach = false
trailing-semicolons = true
formulas-in-cpp = false
version = "v2"
select = ["unknown-key"]
ignore = ["undefined-*", "ALL"]
extend-select = ["accidental-save"]
preview = true
require-ignore-reason = true
baseline = "b.json"
min-severity = "warning"
min-confidence = "low"
fail-level = "error"

[tool.derivlint.severity]
unknown-key = "off"
"unused-*" = "info"

[tool.derivlint.options.undefined-function]
functions = ["npu_*"]

[tool.derivlint.options.missing-argument-derivative]
usual = 3

[tool.derivlint.per-file-ignores]
"old/*.yaml" = ["ALL"]

[tool.derivlint.per-operator-ignores]
"sort.*" = ["unused-gradient"]
"""


def test_every_key_is_read_and_paths_are_relative_to_the_file(here: Path) -> None:
    (here / "pyproject.toml").write_text(f'[project]\nname = "x"\n\n[tool.derivlint]\n{EVERY_KEY}')
    origin = here / "pyproject.toml"
    assert find_settings(here / "below") == Settings(
        origin=origin,
        operators_from=str(origin),
        paths=(here / "p",),
        exclude=(PathGlob("old", here),),
        force_exclude=True,
        native_functions=(here / "n.yaml", Path("/m.yaml")),
        tags=here / "t.yaml",
        pytorch_operators=False,
        headers=(here / "h.h",),
        helper_bodies=here / "b.cpp",
        torch="installed",
        preset="torch_npu",
        entries_key="entries",
        versions_key="versions",
        version_key="for",
        ignored_keys=("owner",),
        replaces_pytorch=False,
        declares_operators=True,
        composites=True,
        external_operators=("far_*",),
        foreach=False,
        trailing_semicolons=True,
        formulas_in_cpp=False,
        version="v2",
        selections=(Selection(("unknown-key",), ("undefined-*", "ALL", "unknown-key"), ("accidental-save",)),),
        preview=True,
        require_ignore_reason=True,
        severity={"unknown-key": None, "unused-*": Severity.INFO},
        options={"undefined-function": {"functions": ("npu_*",)}, "missing-argument-derivative": {"usual": 3}},
        per_file_ignores={PathGlob("old/*.yaml", here): ("ALL",)},
        per_operator_ignores={"sort.*": ("unused-gradient",)},
        baseline=here / "b.json",
        min_severity=Severity.WARNING,
        min_confidence=Confidence.LOW,
        fail_level=Severity.ERROR,
    )


def test_the_layout_is_the_presets_with_the_given_additions() -> None:
    assert Settings().layout is None
    assert Settings(preset="torch_npu").layout == LAYOUTS["torch_npu"]
    own = Settings(preset="torch_npu", entries_key="entries", ignored_keys=("owner",), replaces_pytorch=False).layout
    elsewhere, marks = LAYOUTS["torch_npu"].elsewhere, LAYOUTS["torch_npu"].marks
    assert own == Layout(
        "entries", "all_version", "version", frozenset({"owner"}), overrides=False, elsewhere=elsewhere, marks=marks
    )
    own_too = Settings(preset="torch_npu", external_operators=("far_*",)).layout
    assert own_too is not None
    assert own_too.elsewhere == (*elsewhere, "far_*")
    switches = Settings(foreach=False, trailing_semicolons=True, formulas_in_cpp=False).layout
    assert switches == Layout(foreach=False, semicolons=True, cpp=False)
    assert Settings(ignored_keys=("owner",)).layout == Layout(ignored=frozenset({"owner"}))


def test_every_key_of_the_table_is_a_setting_and_tested_here() -> None:
    assert set(load_toml(f"[tool.derivlint]\n{EVERY_KEY}")["tool"]["derivlint"]) == set(KEYS)
    fields = set(Settings.__struct_fields__) | set(Selection.__struct_fields__)
    assert [key for key, item in KEYS.items() if item.field not in fields or key != item.name] == []


def test_the_nearest_table_counts_and_the_own_file_comes_first(here: Path) -> None:
    below = here / "a" / "b"
    below.mkdir(parents=True)
    (here / "pyproject.toml").write_text('[tool.derivlint]\nfail-level = "info"\n')
    (here / "a" / "pyproject.toml").write_text('[tool.other]\nname = "derivlint"\n')
    assert find_settings(below).origin == here / "pyproject.toml"
    (here / "a" / "derivlint.toml").write_text('fail-level = "error"\n')
    (here / "a" / "pyproject.toml").write_text('[tool.derivlint]\nfail-level = "info"\n')
    assert find_settings(below).origin == here / "a" / "derivlint.toml"


SEVERITIES = '"error", "warning", "info"'


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ('\n[tool.derivlint]\nselct = ["a"]\n', ['3:1: unknown key "selct"; did you mean "select"?']),
        ('[tool.derivlint]\n"min-severity" = "bad"\n', [f'2:18: "min-severity" must be one of {SEVERITIES}']),
        ("[tool.derivlint]\nmin-confidence = 3\n", ['2:18: "min-confidence" must be one of "high", "medium", "low"']),
        ('[tool.derivlint]\n# x\n preview = "yes"\n', ['3:12: "preview" must be true or false']),
        ('[tool.derivlint]\nselect = "a"\n', ['2:10: "select" must be a list of rule names']),
        ('[tool.derivlint]\nignore = [\n "ALL",\n 1]\n', ['4:2: "ignore" must be a list of rule names']),
        ("[tool.derivlint]\ntorch = 2.1\n", ['2:9: "torch" must be a version, or "installed"']),
        ("[tool.derivlint]\npreset = 'npu'\n", ['2:10: "preset" must be one of "candle", "torch_npu"']),
        ('[tool.derivlint]\ntags = "a\\u0000"\n', ['2:8: "tags" must be a path']),
        ("[tool.derivlint]\ntags = []\n", ['2:8: "tags" must be a path']),
        ('[tool.derivlint]\npaths = "a"\n', ['2:9: "paths" must be a list of paths']),
        ("[tool.derivlint]\nexclude = [[]]\n", ['2:12: "exclude" must be a list of patterns']),
        ("[tool.derivlint]\nseverity = 1\n", ['2:12: "severity" must be a table of rule names and severities']),
        ("[tool.derivlint]\nper-file-ignores.x = 1\n", ['2:22: "x" must be a list of rule names']),
        (
            "[tool.derivlint]\nper-operator-ignores = 1\n",
            ['2:24: "per-operator-ignores" must be a table of operators and lists of rule names'],
        ),
        ("[tool.x]\nselct = 1\n[ tool.derivlint ]\nselct = 1\n", ['4:1: unknown key "selct"; did you mean "select"?']),
        ("[tool]\nderivlint.selct = 1\n", ['2:11: unknown key "selct"; did you mean "select"?']),
        ("[tool.derivlint.selct]\n", ['1:17: unknown key "selct"; did you mean "select"?']),
        ("tool = {derivlint={ 'selct'=1}}\n", ['1:21: unknown key "selct"; did you mean "select"?']),
        ("[tool]\nderivlint = 3\n", ['2:13: "derivlint" must be a table']),
        (
            '[tool.derivlint]\nselect = ["é", "😀", "unknown-kye"]\n',
            [
                '2:11: unknown rule "é"; "derivlint rules" lists them',
                '2:16: unknown rule "😀"; "derivlint rules" lists them',
                '2:21: unknown rule "unknown-kye"; did you mean "unknown-key"?',
            ],
        ),
        ('[tool.derivlint]\nextend-select = ["x-*"]\n', ['2:18: no rule matches "x-*"']),
        (
            '[tool.derivlint.severity]\nunknown-kye = "off"\nunknown-key = "no"\n',
            [
                '2:1: unknown rule "unknown-kye"; did you mean "unknown-key"?',
                f'3:15: "unknown-key" must be one of {SEVERITIES}, "off"',
            ],
        ),
        (
            '[tool.derivlint.per-file-ignores]\n"*" = ["ALL", "unknown-kye"]\n',
            ['2:15: unknown rule "unknown-kye"; did you mean "unknown-key"?'],
        ),
        (
            '[tool.derivlint.per-operator-ignores]\nsin = ["unknown-kye"]\n',
            ['2:8: unknown rule "unknown-kye"; did you mean "unknown-key"?'],
        ),
        (
            "[tool.derivlint.options]\nunknown-kye = {}\nALL = {}\nunknown-key = {a=1}\nundefined-function=1\n",
            [
                '2:1: unknown rule "unknown-kye"; did you mean "unknown-key"?',
                '3:1: unknown rule "ALL"; "derivlint rules" lists them',
                '4:16: "unknown-key" has no options',
                '5:20: the options of "undefined-function" must be a table',
            ],
        ),
        (
            "[tool.derivlint.options.missing-argument-derivative]\nusal = 1\nx = 1\nusual = 0\narguments = [1]\n",
            [
                '2:1: "missing-argument-derivative" has no option "usal"; did you mean "usual"?',
                '3:1: "missing-argument-derivative" has no option "x"; its options are "arguments" and "usual"',
                '4:9: "usual" must be a whole number of at least 1',
                '5:14: "arguments" must be a list of texts',
            ],
        ),
        (
            "[tool.derivlint.options.missing-argument-derivative]\nusual = true\n",
            ['2:9: "usual" must be a whole number of at least 1'],
        ),
        (
            '[tool.derivlint]\nselct = 1\nignore = ["x"]\n[tool.derivlint.severity]\nx = "off"\n',
            [
                '2:1: unknown key "selct"; did you mean "select"?',
                '3:11: unknown rule "x"; "derivlint rules" lists them',
                '5:1: unknown rule "x"; "derivlint rules" lists them',
            ],
        ),
        ("[tool.derivlint\n", ["1:16: no valid TOML: expected ']' at the end of a table declaration"]),
        ("[tool.derivlint]\nx = '", ['2:6: no valid TOML: expected "\'"']),
        ("[tool.derivlint]\nx = 1\nx = 2\n", ["3:6: no valid TOML: cannot overwrite a value"]),
    ],
)
def test_mistakes_are_reported_with_their_places_all_at_once(here: Path, text: str, messages: list[str]) -> None:
    (here / "pyproject.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        find_settings(here)
    assert list(caught.value.messages) == [f"pyproject.toml:{message}" for message in messages]


def test_a_mistake_has_its_place_as_numbers(here: Path) -> None:
    (here / "derivlint.toml").write_text("\n x = 1\n")
    with pytest.raises(ConfigurationError) as caught:
        find_settings(here)
    (mistake,) = caught.value.mistakes
    assert (mistake.document, mistake.line, mistake.column) == ("derivlint.toml", 2, 2)
    assert str(mistake) == f"derivlint.toml:2:2: {mistake.message}"


def test_a_key_that_resembles_none_is_reported_with_all_there_are(here: Path) -> None:
    (here / "derivlint.toml").write_text("zzzzzz = 1\n")
    allowed = (
        '"baseline", "composites", "declares-operators", "entries-key", "exclude", '
        '"extend-select", "external-operators", "fail-level"'
    )
    with pytest.raises(InputError, match=f'^derivlint.toml:1:1: unknown key "zzzzzz"; allowed are {allowed}'):
        find_settings(here)


def test_places_are_right_behind_a_byte_order_mark_and_with_crlf(here: Path) -> None:
    (here / "derivlint.toml").write_bytes(b'\xef\xbb\xbfpreview = true\r\nselect = ["nope"]\r\n')
    with pytest.raises(InputError) as caught:
        find_settings(here)
    assert caught.value.messages == ('derivlint.toml:2:11: unknown rule "nope"; "derivlint rules" lists them',)


def test_a_file_that_is_no_text_or_no_file_is_reported(here: Path) -> None:
    path = here / "derivlint.toml"
    path.write_bytes(b"preview = true\nx = '\xc3\xa9\xff'\n")
    with pytest.raises(InputError, match=r"^derivlint.toml:2:7: is not UTF-8: byte 0xff$"):
        find_settings(here)
    path.unlink()
    path.mkdir()
    with pytest.raises(InputError, match=r'^cannot read "derivlint.toml": Is a directory$'):
        find_settings(here)
    (here / "below").mkdir()
    (here / "below" / "derivlint.toml").write_text(f"select = {'[' * 3000}{']' * 3000}")
    with pytest.raises(InputError, match=r"below/derivlint.toml:1:1: is nested too deeply$"):
        find_settings(here / "below")


@pytest.mark.skipif(os.name != "posix" or os.getuid() == 0, reason="the superuser reads everything")
def test_a_file_that_may_not_be_read_is_reported(here: Path) -> None:
    (here / "derivlint.toml").touch(mode=0)
    with pytest.raises(InputError, match=r'^cannot read "derivlint.toml": Permission denied$'):
        find_settings(here)


def test_a_pyproject_that_does_not_speak_of_derivlint_is_none_of_its_business(here: Path) -> None:
    (here / "derivlint.toml").write_text("")
    below = here / "below"
    below.mkdir()
    for data in (b"\xff", b"[tool", b"tool = 3 # derivlint\n", b'[project]\ndependencies = ["derivlint"]\n'):
        (below / "pyproject.toml").write_bytes(data)
        assert find_settings(below).origin == here / "derivlint.toml"
    (below / "pyproject.toml").unlink()
    (below / "pyproject.toml").mkdir()
    assert find_settings(below).origin == here / "derivlint.toml"


def test_a_former_name_of_a_rule_works_and_is_reported_once(
    run: Run, here: Path, rules: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(derivlint.rules, "RENAMED", {"old-rule": "error-rule"})
    (here / "derivatives.yaml").write_text(SIN)
    (here / "derivlint.toml").write_text('select = ["old-rule"]\nseverity.old-rule = "warning"\n')
    outcome = run("check", "--output-format", "json", "--ignore", "info-rule", "derivatives.yaml")
    assert [(item["rule"], item["severity"]) for item in json.loads(outcome.out)["diagnostics"]] == [
        ("error-rule", "warning")
    ]
    assert outcome.status == 1
    assert outcome.err == (
        'derivlint: derivlint.toml:1:11: rule "old-rule" is now called "error-rule"\n'
        'derivlint: derivlint.toml:2:10: rule "old-rule" is now called "error-rule"\n'
    )
    outcome = run("check", "--isolated", "--select", "old-rule")
    assert (outcome.status, outcome.err) == (1, 'derivlint: rule "old-rule" is now called "error-rule"\n')


def test_the_command_line_comes_before_the_configuration() -> None:
    configured = Settings(fail_level=Severity.INFO, preview=True, torch="2.1", tags=Path("t"))
    settings = configured.overridden(fail_level=Severity.ERROR, preview=None, ignore=(), native_functions=())
    assert settings == Settings(fail_level=Severity.ERROR, preview=True, torch="2.1", tags=Path("t"))


def test_operators_of_the_command_line_replace_all_of_the_configuration() -> None:
    configured = Settings(native_functions=(Path("n"),), tags=Path("t"), operators_from="pyproject.toml")
    assert configured.overridden(torch="2.1") == Settings(torch="2.1", operators_from="the command line")
