"""Every input gives a diagnostic and an exit status: no traceback, no hang, no execution.

The command runs as for users; an unhandled exception is an exit status of 3 or a failing test. Texts are composed of
real pieces, since random text never gets past the YAML reader.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from derivlint.cli.main import cli
from derivlint.formats.registry import FORMATS
from derivlint.formula import parse_formula
from derivlint.lint import Finding, Fix, Rule, RuleMeta, Severity, TextEdit
from derivlint.lint.rule import Target
from derivlint.model import DerivativeFormula, Model
from derivlint.project.check import check_source
from derivlint.project.fixing import fix_source
from derivlint.project.settings import ConfigurationError, Settings
from derivlint.project.settings.document import Notes
from derivlint.project.settings.lookup import OWN_FILE, read_document, read_settings
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions, SchemaError, parse_schema
from derivlint.source import SourceFile, Span
from tests.running import runner
from tests.sampling import CAMPAIGN

pytestmark = pytest.mark.long

ENTRY = "- name: sin(Tensor self) -> Tensor\n  self: "
#: Deterministic examples without deadline, since CI machines may be slow.
STABLE = settings(
    max_examples=1_000 if CAMPAIGN else 20,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)

SCHEMAS = [
    "sin(Tensor self) -> Tensor",
    "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "sin_(Tensor(a!) self) -> Tensor(a!)",
    "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    "_foreach_sin(Tensor[] self) -> Tensor[]",
    "nothing(Tensor self) -> Tensor",
]
FORMULAS = [
    "grad * self.cos().conj()",
    "auto_linear",
    "auto_element_wise",
    "non_differentiable",
    "grads[0] * self_t",
    "grad.defined() ? at::zeros_like(self, at::MemoryFormat::Contiguous) : Tensor()",
    "[&]() { auto x = grad; return x; }()",
    'not_implemented("sin")',
    "maybe_multiply(grad, (double) alpha.conj()) - std::vector<Tensor>{self, other}[1]",
]
YAML_PIECES = [
    *"\n\r\t\0 :-?[]{}&*!|>'\"%@`#,\ufeff\u2028\u00e9\x85\x1b", "- ", "\n  ", "\n- name: ", "\n  self: ",
    "\n  result: ", "\n  dispatch:\n    CUDA:\n      self: ", "\n  output_differentiability: [True]", "---\n", "...\n",
    "<<: *a", "&a ", "*a", "!!python/object:os.system ", "\\ud800", "\U0001f600",
    "# derivlint: ignore[undefined-name] reason\n", "# derivlint: ignore-file[", "# DERIVLINT ignore [a,,b",
]  # fmt: skip
FORMULA_PIECES = [
    *"()[]{}<>.,;:?!~+-*/%^&|='\"\\ \n\0\u00e9",
    *("grad", "self", "self_p", "self_t", "result", "1e5", "0x", "::", "->", "&&", ">>", "//", "/*", "*/", "at::"),
    *("return ", "not ", "static_cast<", "std::vector<Tensor>", "[&]", "[=](", "\\x", "\U0001f600"),
]
SCHEMA_PIECES = [
    *"()[]!?*,.=:-> \n\0\u00e9'\"",
    *("Tensor", "int", "Tensor(a!)", "(a -> *)", "(a|b)", "SymInt[2]", "float?", "=None", "=[0, 1]", " -> ", "self"),
]
TOML_PIECES = [
    *"\n=[]{}\"'#,.\0\u00e9",
    *("[tool.derivlint]\n", "select = ", "ignore = ", "severity.", "options.", "torch = ", "preset = ", "paths = "),
    *('["ALL"]', '"torch_npu"', '"undefined-name"', "1979-05-27", "true", "1e400", '"""', "per-file-ignores."),
]


def in_utf16(data: bytes) -> bytes:
    return data.decode("utf-8", "replace").encode("utf-16")


def mixed(whole: list[str], pieces: list[str], size: int = 12) -> st.SearchStrategy[str]:
    """Texts of valid parts, with pieces that break them."""
    piece = st.one_of(st.sampled_from(pieces), st.sampled_from(whole), st.text(max_size=3))
    return st.lists(piece, max_size=size).map("".join)


formulas = mixed(FORMULAS, FORMULA_PIECES)
schemas = mixed(SCHEMAS, SCHEMA_PIECES)
entries = st.builds(
    lambda schema, key, formula, more: f"- name: {schema}\n  {key}: {formula}\n  {more}",
    st.one_of(st.sampled_from(SCHEMAS), schemas),
    st.one_of(st.sampled_from(["self", "self, other", "result", "values", "output_differentiability"]), schemas),
    st.one_of(st.sampled_from(FORMULAS), formulas, formulas.map(repr)),
    mixed(FORMULAS, YAML_PIECES, 4),
)
files = st.one_of(
    st.lists(entries, max_size=4).map("\n".join), mixed([ENTRY + formula for formula in FORMULAS], YAML_PIECES)
).map(lambda text: text.encode("utf-8", "surrogatepass"))
any_file = st.one_of(files, st.binary(max_size=60), files.map(in_utf16))


def run(*arguments: str, stdin: bytes | None = None) -> tuple[int, str, str]:
    result = runner().invoke(cli, arguments, input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


@STABLE
@given(any_file, st.sampled_from(sorted(FORMATS)))
def test_any_bytes_give_a_report(data: bytes, output_format: str) -> None:
    arguments = "check - --no-config --no-cache --preview --min-confidence low --min-severity info --output-format"
    status, out, err = run(*arguments.split(), output_format, stdin=data)
    assert status in ((0,) if output_format == "lintrunner" else (0, 1))
    assert "internal" not in out + err


@STABLE
@given(files)
def test_any_text_can_be_fixed(bundled_natives: NativeFunctions, data: bytes) -> None:
    rules = Settings().selected(load_rules())
    source = SourceFile.from_bytes("derivatives.yaml", data)
    fixed = fix_source(source, lambda text: check_source(text, bundled_natives, Settings(), rules), unsafe=True)
    if fixed.changed:
        again = check_source(fixed.result, bundled_natives, Settings(), rules)
        assert again.model.document.problems == ()
        assert again.crashes == 0


@settings(STABLE, max_examples=4_000 if CAMPAIGN else 150)
@given(formulas)
def test_any_formula_is_parsed_or_has_a_problem(text: str) -> None:
    formula = parse_formula(text)
    assert formula.tree is not None or formula.problems
    assert all(0 <= problem.start <= problem.end <= len(text) for problem in formula.problems)


@settings(STABLE, max_examples=4_000 if CAMPAIGN else 150)
@given(schemas)
def test_any_schema_is_parsed_or_refused(text: str) -> None:
    try:
        parsed = parse_schema(text)
    except SchemaError:
        return
    assert str(parse_schema(str(parsed))) == str(parsed)


@settings(STABLE, max_examples=2_000 if CAMPAIGN else 90)
@given(data=st.one_of(mixed(['select = ["ALL"]\n'], TOML_PIECES).map(str.encode), st.binary(max_size=40)))
def test_any_configuration_is_read_or_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / OWN_FILE
    path.write_bytes(data)
    notes = Notes()
    try:
        document = read_document(path, notes)
        if document is not None:
            read_settings(document)
    except ConfigurationError as error:
        notes.mistakes.extend(error.mistakes)
    assert all(mistake.message for mistake in notes.mistakes)


@pytest.mark.parametrize(
    "text",
    [
        "- !!python/object/apply:os.system ['touch executed']\n",
        "- name: !!python/name:os.system ''\n  self: !!python/object/new:os.system ['touch executed']\n",
        "- !!binary aaa\n- !!set {a, b}\n- !!timestamp 2001-01-01\n- !!int x\n- !!float []\n- !!null {}\n- ! {}\n",
        "- &a [*a]\n- &b {b: *b}\n- &c {*c : 1}\n- {<<: *a}\n- {<<: [*b, *b, 1]}\n",
        "- &a {<<: *a, name: x}\n",
        "- &a {name: 'sin(Tensor self) -> Tensor'}\n- &a {name: 'cos(Tensor self) -> Tensor'}\n- *a\n- *missing\n",
        "- {}\n---\n- {}\n...\n---\n--- x\n",
        "%YAML 9.9\n%TAG ! tag:x,2000:\n%TAG ! tag:y:\n---\n- !foo {}\n",
        "a: &a [x, x]\n" + "".join(f"{'abcdefghijkl'[i]}: &{'abcdefghijkl'[i]} [*a, *a]\n" for i in range(1, 12)),
        "&a x: *a\n? [a, b]\n: c\n? {d: e}\n",
        "- name: sin(Tensor self) -> Tensor\r  self: slef\r",
        "- \0\n",
        '- "\\ud800\\udc00\\U00110000\\x"\n',
    ],
)
def test_odd_yaml_is_reported_and_not_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, _ = run("check", "-", "--no-cache", stdin=text.encode())
    assert status == 1
    assert "found " in out
    assert list(tmp_path.iterdir()) == []


def derivlint(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A separate process with a time and memory limit."""

    def limited() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (2 * 2**30, 2 * 2**30))

    return subprocess.run(
        [sys.executable, "-m", "derivlint", "check", "--no-cache", "--no-config", *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        preexec_fn=limited,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="has no such files")
def test_odd_files_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder" / "derivatives.yaml").mkdir(parents=True)
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    (tmp_path / "dangling.yaml").symlink_to("nowhere")
    (tmp_path / "large.yaml").touch()
    os.truncate(tmp_path / "large.yaml", 65 * 2**20)
    expected = {
        "folder/derivatives.yaml": 'no file called "*derivatives*.yaml" in "folder/derivatives.yaml"',
        "loop.yaml": 'cannot read "loop.yaml": Too many levels of symbolic links',
        "dangling.yaml": 'cannot read "dangling.yaml": No such file or directory',
        "large.yaml": 'cannot read "large.yaml": it is larger than 3 MiB',
        "a" * 5000: f'cannot read "{"a" * 5000}": File name too long',
    }
    for path, message in expected.items():
        found = derivlint(path)
        assert (found.returncode, found.stdout, found.stderr) == (2, "", f"derivlint: {message}\n")
    empty = derivlint("/dev/null")
    assert (empty.returncode, empty.stderr) == (1, "")
    assert empty.stdout.startswith("/dev/null:1:1: error: the file has no entries [not-a-list-of-entries]\n")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "latin-1", "cp037"])
def test_other_encodings_are_reported(encoding: str) -> None:
    data = f"{ENTRY}grad * self.cos() # \u00e9\n".encode(encoding)
    status, out, err = run("check", "-", "--no-config", "--no-cache", stdin=data)
    assert (status, err) == (1, "")
    assert "[invalid-encoding]" in out or "[yaml-syntax-error]" in out


def silly_rule(name: str, fix: Fix) -> Rule:
    """A rule with a finding in each formula, with a possibly invalid fix."""

    def check(formula: DerivativeFormula) -> list[Finding]:
        return [Finding(formula.key_span, "a finding", fix=fix)]

    return Rule(name, "silly", "silly\n", RuleMeta(Severity.WARNING, "style"), "formula", check, (), ())


@pytest.mark.parametrize(
    "edits",
    [
        (TextEdit(Span(-5, 2), "x"),),
        (TextEdit(Span(5, 2), "x"),),
        (TextEdit(Span(0, 10**9), ""),),
        (TextEdit(Span(0, 5), "a"), TextEdit(Span(3, 9), "b")),
        (TextEdit(Span(0, 1), "\ud800"),),
        (TextEdit(Span(0, 0), "[" * 10_000),),
        (),
    ],
)
def test_fixes_that_make_no_sense_do_no_harm(bundled_natives: NativeFunctions, edits: tuple[TextEdit, ...]) -> None:
    source = SourceFile("derivatives.yaml", ENTRY + "grad * self.cos().conj()\n")
    rules = (silly_rule("silly", Fix("do harm", edits)), *Settings().selected(load_rules()))
    fixed = fix_source(source, lambda text: check_source(text, bundled_natives, Settings(), rules))
    assert fixed.text == source.text


def test_a_rule_that_crashes_leaves_the_others_alone(bundled_natives: NativeFunctions) -> None:
    def recursion(model: Model) -> list[Finding]:
        return recursion(model)

    def attribute(formula: DerivativeFormula) -> list[Finding]:
        return [Finding(formula.nothing, "never")]  # type: ignore[attr-defined]  # it is to crash

    checks: dict[Target, Callable[[Any], list[Finding]]] = {
        "model": recursion,
        "formula": attribute,
        "suppressions": recursion,
    }
    crashing = [
        Rule(f"crash-{target}", "", "", RuleMeta(Severity.INFO, "style"), target, check, (), ())
        for target, check in checks.items()
    ]
    rules = tuple(sorted((*Settings().selected(load_rules()), *crashing), key=lambda rule: rule.name))
    source = SourceFile("derivatives.yaml", ENTRY + "slef # derivlint: ignore[crash-formula] no\n")
    checked = check_source(source, bundled_natives, Settings(), rules)
    assert checked.crashes == 3
    assert [item.rule for item in checked.shown].count("internal-error") == 3
    assert "undefined-name" in {item.rule for item in checked.shown}
