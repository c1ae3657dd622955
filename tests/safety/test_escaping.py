"""What reaches a terminal or a log is visible text: no control codes, and no commands of build servers."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import derivlint
from derivlint.cli import main
from derivlint.cli.main import cli
from derivlint.formats import Report
from derivlint.formats.registry import FORMATS
from derivlint.lint import Confidence, Diagnostic, Related, Severity
from derivlint.source import SourceFile, Span, visible, visible_json, visible_line, visible_page, visible_xml
from tests.running import runner
from tests.sampling import CAMPAIGN, sample

pytestmark = pytest.mark.long

ROOT = Path(derivlint.__file__).parent
REPOSITORY = Path(__file__).parents[2]
SIN = "- name: sin(Tensor self) -> Tensor\n  self: grad * sefl.cos().conj()\n  result: auto_element_wise\n"
#: Begins a line that a build server takes for a command: GitHub skips blanks.
COMMAND = re.compile(r"\s*::(?!(?:at|c10|std|torch)::)")
#: Commands that build servers find anywhere in a line.
MARKS = ("##[", "##vso[", "##teamcity[")
HOSTILE = (
    "\x1b[31m", "\x1b]0;title\x07", "\n::error::X", "\r::set-output name=a::b", "\u2028::error::X", "\x85##vso[a]b",
    "##vso[task.setvariable variable=a]b", "##[error]X", "##teamcity[x]", "\u202eabc", "\u200b", "\u2066x", "\ufeff",
    "\x9b31m", "\x7f", "\x08", "\x00", "\ud800", "\u3164", "::error::X", "  ::warning::X", "\t::debug::X", "\x0b",
    "\x0c", "plain", "é", "😀", '"', "\\", "=", "[", "a.b", "-", "--", "%", "\U000e0041",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=3), min_size=1, max_size=4).map("".join)
#: Texts that an operating system takes for names and arguments.
NAMES = TEXTS.map(lambda text: text.replace("\x00", "").replace("/", "")[:60]).filter(
    lambda text: text not in ("", ".", "..") and not any("\ud800" <= char <= "\udfff" for char in text)
)


def assert_harmless(text: str) -> None:
    """Nothing steers a terminal, and no line is a command."""
    for line in text.split("\n"):
        assert line.replace("\t", "").isprintable(), ascii(line)
        assert not set(line) & set("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"), ascii(line)
        assert COMMAND.match(line) is None, ascii(line)
        assert not any(mark in line for mark in MARKS), ascii(line)


@given(TEXTS)
@example("##\n[error]")
@example("\n\t \t::error::")
@example("###[x]")
def test_text_is_made_visible(text: str) -> None:
    assert_harmless(visible_page(text))
    line = visible_line(text)
    assert_harmless(line)
    assert "\n" not in line
    assert "\t" not in line
    assert visible_line(line) == line


@given(st.text(st.characters(codec="ascii", categories=["L", "N", "P"], exclude_characters=":#"), max_size=20))
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    shown = f"a {text} é 😀 {text}: // # ## x"
    assert visible(shown) == visible_line(shown) == visible_page(shown) == visible_json(shown) == shown


def test_c_plus_plus_may_begin_with_a_qualified_name() -> None:
    assert visible_page("  ::std::tuple<at::Tensor> f();\n::at::sin(x)") == (
        "  ::std::tuple<at::Tensor> f();\n::at::sin(x)"
    )
    assert visible_page("::error::x") == "\\x3a:error::x"


@given(TEXTS)
def test_json_says_the_same(text: str) -> None:
    written = visible_json(json.dumps({text: [text]}, ensure_ascii=False, indent=1))
    assert_harmless(written)
    assert json.loads(written) == {text: [text]}


@given(TEXTS)
def test_every_format_stands_any_text(text: str) -> None:
    path = text.replace("\x00", "") or "x"
    source = SourceFile(path, f"a {text}\n{text}")
    found = Diagnostic(
        path, Span(0, 2 + len(text)), "undefined-name", f'"{text}" {text}', Severity.ERROR, Confidence.HIGH,
        help=text, entry=text, dispatch=text, key=text, related=(Related(text, Span(1, 2), "other\n::error::x"),),
    )  # fmt: skip
    report = Report((found,), {path: source}, 1, 1, problems=(text,), root=Path("/nowhere"))
    for name, chosen in FORMATS.items():
        written = chosen.render(report)
        if name == "github":
            # one command, and it is ours
            assert len(written.splitlines()) == 1
            assert written.startswith("::error file=")
            assert_harmless(written.removeprefix("::"))
            continue
        assert_harmless(written)
        written.encode()
        if name == "junit":
            ElementTree.fromstring(written)
        elif name in ("json-lines", "rdjsonl", "lintrunner"):
            assert all(json.loads(line) for line in written.splitlines())
        elif name not in ("text", "concise"):
            assert json.loads(written)


@given(TEXTS)
def test_xml_is_read_back_but_for_what_xml_does_not_have(text: str) -> None:
    from xml.sax.saxutils import escape

    written = visible_xml(escape(text))
    assert_harmless(written)
    read = ElementTree.fromstring(f"<a>{written}</a>").text or ""
    assert visible(read) == visible(text.replace("\r\n", "\r\n"))


# The command: everything that a user, a repository or an environment names comes out visible


def outputs(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Run the command line as a process would, and return its status and everything that it prints."""
    status = main.run(arguments)
    captured = capsys.readouterr()
    return status, captured.out + "\n" + captured.err


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DERIVLINT_CACHE_DIR", os.devnull)
    for name in ("CI", "GITHUB_WORKSPACE", "CI_PROJECT_DIR", "DERIVLINT_DEBUG", "DERIVLINT_OUTPUT_FORMAT"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "derivatives.yaml").write_text(SIN)
    return tmp_path


KEY = '"a\\u001b[31m\\n::error::CFG"'


@pytest.mark.parametrize(
    "configuration",
    [
        f"{KEY} = 1\n", f"select = [{KEY}]\n", f"severity = {{ {KEY} = 'error' }}\n",
        f"severity = {{ undefined-name = {KEY} }}\n", f"preset = {KEY}\n", f"torch = {KEY}\n", f"version = {KEY}\n",
        f"headers = [{KEY}]\n", f"native-functions = [{KEY}]\n", f"baseline = {KEY}\n", f"paths = [{KEY}]\n",
        f"options = {{ {KEY} = {{}} }}\n", f"options.undefined-function = {{ {KEY} = 1 }}\n",
        f"per-file-ignores = {{ {KEY} = [{KEY}] }}\n", f"per-operator-ignores = {{ {KEY} = ['ALL'] }}\n",
        f"exclude = [{KEY}]\n", f"entries-key = {KEY}\n", f"ignored-keys = [{KEY}]\n", f"x = {KEY} {KEY}\n",
        "\x85##vso[a]b = 1\n", "# \u2028::error::x\nx = \u202e\n",
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["check", "check --show-settings", "check --show-files", "check -v", "coverage"])
def test_nothing_in_a_configuration_is_quoted_raw(
    here: Path, capsys: pytest.CaptureFixture[str], configuration: str, command: str
) -> None:
    (here / "pyproject.toml").write_text(f"[tool.derivlint]\n{configuration}")
    status, text = outputs(command.split(), capsys)
    assert status in (0, 1, 2)
    assert_harmless(text)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=400 if CAMPAIGN else 15, deadline=None
)
@given(NAMES, st.integers(0, 40))
def test_nothing_in_arguments_is_quoted_raw(
    here: Path, capsys: pytest.CaptureFixture[str], name: str, number: int
) -> None:
    path = here / "derivatives.yaml"
    lines = [
        ["check", name], ["check", f"--{name}"], ["check", "--select", name, str(path)],
        ["check", "--ignore", name, str(path)], ["check", "--torch", name, str(path)],
        ["check", "--headers", name, str(path)], ["check", "--native-functions", name, str(path)],
        ["check", "--config", name, str(path)], ["check", "--config", f"{name}={name}", str(path)],
        ["check", "--output-format", name], ["check", "--min-severity", name],
        ["check", "--output-file", f"{name}/x", str(path)], ["check", "--baseline", name, str(path)],
        ["check", "--diff-base", name, str(path)], ["check", "--compiler", name, str(path)],
        ["check", "--add-ignores", name, "--no-ignores", str(path)],
        ["check", "--exclude", name, "--show-settings", str(path)],
        ["check", "--stdin-filename", name, "--show-files", "-"], ["check", f"@{name}"], ["check", f"{name}*"],
        ["show", name, str(path)], ["coverage", "--ops", name, str(path)], ["derive", name, "--wrt", name, str(path)],
        ["emit", "cpp", "--out", name, "--namespace", name, str(path)], ["emit", name], ["model", name],
        ["rule", name], ["rules", name], ["index", "show", name], ["completion", name], ["lsp", "--tcp", name],
        [name], [f"--{name}"],
    ]  # fmt: skip
    arguments = lines[number % len(lines)]
    status, text = outputs(arguments, capsys)
    assert status in (0, 1, 2), (arguments, text)
    assert_harmless(text)


FOLDERS = ("a\n::error::x", "::error::x", "\x1b[31m", "-x", " ::error::x", "##vso[a]b", "\u202ex", "\u2028::error::x")


@pytest.mark.skipif(os.name != "posix", reason="names as POSIX has them")
@pytest.mark.parametrize(
    ("folder", "output_format"), sample(product(FOLDERS, FORMATS), 16, always=[(folder, "text") for folder in FOLDERS])
)
def test_nothing_in_a_file_name_is_quoted_raw(
    here: Path, capsys: pytest.CaptureFixture[str], folder: str, output_format: str
) -> None:
    place = here / folder / "derivatives.yaml"
    place.parent.mkdir()
    place.write_text(SIN)
    (here / "derivatives.yaml").unlink()
    status, text = outputs(["check", ".", "--output-format", output_format, "-v"], capsys)
    assert status == (0 if output_format == "lintrunner" else 1)
    if output_format == "github":
        text = text.replace("::error file=", "")
    assert_harmless(text)
    if output_format != "text":
        return
    for more in (["--show-files"], ["--show-settings"], ["--diff"], ["--statistics"]):
        assert_harmless(outputs(["check", ".", *more], capsys)[1])
    for command in ("model", "coverage"):
        assert_harmless(outputs([command, f"./{folder}/derivatives.yaml"], capsys)[1])


@pytest.mark.parametrize("text", sample([text for text in HOSTILE if "\x00" not in text and text[0] != "\ud800"], 8))
@pytest.mark.parametrize("options", [(), ("--output-format", "concise"), ("--color", "always")])
def test_nothing_in_a_file_is_quoted_raw(
    here: Path, capsys: pytest.CaptureFixture[str], text: str, options: tuple[str, ...]
) -> None:
    quoted = json.dumps(text)
    (here / "derivatives.yaml").write_text(
        f"- name: {quoted}\n  {quoted}: {quoted}\n  self: 'grad{text}'\n- name: sin(Tensor self) -> Tensor\n"
        f"  self: |\n    grad *\n    {text}\n{text}\n# {text}\n"
    )
    for command in (["check", *options], *([] if options else (["coverage"], ["model"], ["show", "sin"]))):
        status, written = outputs([*command, "derivatives.yaml"], capsys)
        assert status in (0, 1, 2)
        assert_harmless(re.sub(r"\x1b\[[0-9;]*m", "", written) if options[:1] == ("--color",) else written)


def test_an_error_that_nobody_expected_is_one_line(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("oops\n::error::X\x1b[31m")

    monkeypatch.setattr("derivlint.cli.checking.check.resolve_inputs", fail)
    status, text = outputs(["check", "derivatives.yaml"], capsys)
    assert status == 3
    assert_harmless(text)
    assert "oops\\n::error::X\\x1b[31m" in text
    monkeypatch.setenv("DERIVLINT_DEBUG", "1")
    status, text = outputs(["check", "derivatives.yaml"], capsys)
    assert status == 3
    assert "Traceback" in text
    assert_harmless(text)


def test_the_log_of_the_language_server_is_visible() -> None:
    import logging

    from derivlint.cli.lsp import LogFormatter

    try:
        raise ValueError("a\n::error::b\x1b[31m")
    except ValueError as error:
        info = (type(error), error, error.__traceback__)
    record = logging.LogRecord("x", logging.ERROR, "f", 1, "m\n::error::%s", ("\x9b",), info)
    text = LogFormatter("derivlint: %(levelname)s: %(message)s").format(record)
    assert_harmless(text)
    assert text.startswith("derivlint: ERROR: m\\n::error::\\x9b\nTraceback")


def test_usage_errors_look_as_those_of_click(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["check", "--nonsense"], ["check", "--color", "x"], ["show"], ["completion"], ["rule", "a", "b"]):
        expected = runner().invoke(cli, arguments, prog_name="derivlint")
        assert main.run(arguments) == expected.exit_code == 2
        assert capsys.readouterr().err == expected.stderr


# The structure: nothing is printed beside the sink

#: The module through which everything is printed.
SINK = "cli/shared/terminal.py"
#: What else may name the streams, each with its reason.
EXCEPTIONS = {
    "__main__.py": "the version, which is ours, is printed without importing the commands",
    "emit/helpers/__main__.py": "a program that builds call, below the sink's layer; it uses visible_line",
    "verify/processes/server.py": "a child whose standard output is the wire to its parent",
    "verify/processes/process.py": "sends the messages of such a child",
    "runtime/load.py": "a library for programs of users, below the sink's layer; it uses visible_line",
    "runtime/start.py": "the process of a user's program, run by path without the rest of derivlint",
    "verify/replay.py": "called by programs that reproduce a finding, below the sink's layer; it uses visible_page",
    "cli/lsp.py": "standard input of the protocol; the log handler formats with visible_page",
}
#: Names that write to a stream or take hold of one, by module.
OUTLETS = {
    "sys": {"stdout", "stderr", "__stdout__", "__stderr__"},
    "click": {"echo", "secho", "echo_via_pager"},
    "traceback": {"print_exc", "print_exception", "print_stack", "print_tb"},
    "warnings": {"showwarning"},
    "logging": {"StreamHandler", "lastResort"},
}


def prints(tree: ast.AST) -> Iterator[int]:
    """The lines that write to a stream, or take hold of one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if node.id == "print":
                yield node.lineno
        elif isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and node.attr in OUTLETS.get(node.value.id, ()):
                yield node.lineno
        elif isinstance(node, ast.ImportFrom):
            outlets = OUTLETS.get(node.module or "", set())
            if any(alias.name in outlets for alias in node.names):
                yield node.lineno


def test_everything_is_printed_through_the_sink() -> None:
    found = {}
    names = {"print", *(name for outlets in OUTLETS.values() for name in outlets)}
    for path in sorted([*ROOT.glob("**/*.py"), *(REPOSITORY / "rules").glob("*.py")]):
        text = path.read_text(encoding="utf-8")
        lines = list(prints(ast.parse(text))) if any(name in text for name in names) else []
        if lines:
            found[path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name] = lines
    assert SINK in found
    assert {name: lines for name, lines in found.items() if name != SINK and name not in EXCEPTIONS} == {}
    assert EXCEPTIONS.keys() <= found.keys()
