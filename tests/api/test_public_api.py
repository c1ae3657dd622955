"""The public Python API: what it returns, what it raises, and a client that knows nothing else."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import site
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import derivlint
from tools.tables import public_names

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guides" / "python-api.md"
CLIENT = ROOT / "examples" / "python_api" / "client.py"
EXAMPLES = [
    (page, text)
    for page in (PAGE, PAGE.with_name("other-generators.md"))
    for text in re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
]
SIN = "- name: sin(Tensor self) -> Tensor\n  self: grad * self.cos().conj()\n  result: auto_element_wise\n"
WRONG = SIN.replace("cos()", "coss()")


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_the_examples_of_the_pages_run(
    example: tuple[Path, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    page, text = example
    exec(compile(text, str(page), "exec"), {})
    assert not capsys.readouterr().err


def test_the_page_has_every_name_and_signature() -> None:
    """What VERSIONING.md says of a name holds for these: read what changes."""
    assert public_names() in PAGE.read_text(encoding="utf-8"), "python -m tools.docs"


def test_there_are_eleven_examples() -> None:
    assert sum(page == PAGE for page, _ in EXAMPLES) == 11


def test_every_name_is_there() -> None:
    assert all(hasattr(derivlint, name) for name in derivlint.__all__)
    assert set(derivlint.__all__) <= set(dir(derivlint))
    with pytest.raises(AttributeError, match="module 'derivlint' has no attribute 'nothing'"):
        _ = derivlint.nothing  # type: ignore[attr-defined]


def test_the_function_emit_is_not_the_subpackage() -> None:
    """Whatever was imported before."""
    program = (
        "import derivlint.emit.files, derivlint; from derivlint import emit; assert emit is derivlint.emit; emit('x')"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (
        process.stderr.splitlines()[-1]
        == 'derivlint.project.errors.InputError: cannot read "x": No such file or directory'
    )


def test_the_import_loads_nothing() -> None:
    program = "import sys, derivlint; print(*sorted(name for name in sys.modules if name.startswith('derivlint')))"
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert process.stdout.split() == ["derivlint", "derivlint.version"]


def test_a_check_of_a_path_is_that_of_the_command(tmp_path: Path) -> None:
    file = tmp_path / "derivatives.yaml"
    file.write_text(WRONG)
    (tmp_path / "derivlint.toml").write_text('min-severity = "error"\n')
    command = [sys.executable, "-m", "derivlint", "check", str(file), "--output-format", "json"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    report = derivlint.check(file)
    assert json.loads(report.to_json()) == json.loads(process.stdout)
    assert report.exit_status == process.returncode == 1
    assert derivlint.check(str(file)).to_json() == report.to_json()


def test_settings_and_operators_count() -> None:
    (finding,) = derivlint.check(WRONG).findings
    assert (finding.rule, finding.path, finding.entry, finding.key) == ("undefined-member", "<text>", "sin", "self")
    report = derivlint.check(WRONG, settings={"severity": {"undefined-member": "info"}})
    assert [item.severity for item in report.findings] == [derivlint.Severity.INFO]
    assert report.exit_status == 0
    assert derivlint.check(WRONG, settings={"ignore": ["undefined-member"]}).findings == ()
    other = derivlint.check(SIN.replace("sin(", "sine("), operators="2.2").findings
    assert [item.rule for item in other] == ["unknown-schema"]


def test_a_configuration_is_read_by_name(tmp_path: Path) -> None:
    file = tmp_path / "derivlint.toml"
    file.write_text('ignore = ["undefined-member"]\n')
    assert derivlint.check(WRONG, settings=file).findings == ()


def test_around_a_text_there_is_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "derivlint.toml").write_text("nonsense = 1\n")
    (tmp_path / "native_functions.yaml").write_text("- func: sine(Tensor self) -> Tensor\n")
    monkeypatch.chdir(tmp_path)
    assert derivlint.check(SIN).findings == ()
    assert [item.rule for item in derivlint.check(SIN.replace("sin(", "sine(")).findings] == ["unknown-schema"]


def test_fixes_write_nothing(tmp_path: Path) -> None:
    file = tmp_path / "derivatives.yaml"
    file.write_text(SIN.replace("conj()", "conj();"))
    fixed = derivlint.fix(file, unsafe=True)
    assert (fixed.text, fixed.report.findings, fixed.rejected) == (SIN, (), ())
    assert [item.rule for item in fixed.fixed] == ["trailing-semicolon"]
    assert file.read_text() != SIN


@pytest.mark.parametrize("target", ["extension", "in-tree", "python"])
def test_code_of_errors_is_refused(target: str) -> None:
    with pytest.raises(derivlint.ErrorsInFileError) as caught:
        derivlint.emit(WRONG, ops=["sin"], target=target)  # type: ignore[arg-type]
    assert [item.rule for item in caught.value.findings] == ["undefined-member"]
    assert caught.value.messages[1] == '"Tensor" has no member "coss" (sin: self)'


def test_code_is_that_of_the_command(tmp_path: Path) -> None:
    file = tmp_path / "derivatives.yaml"
    file.write_text(SIN)
    out = tmp_path / "out"
    command = [sys.executable, "-m", "derivlint", "emit", "cpp", str(file), "--out", str(out)]
    subprocess.run(command, capture_output=True, check=True)
    code = derivlint.emit(file)
    assert {name: (out / name).read_text() for name in code.files} == code.files
    assert "sin" in code.operators


BAD_CALLS: dict[str, tuple[Callable[[], object], str]] = {
    "no file": (lambda: derivlint.check("nothing.yaml"), 'cannot read "nothing.yaml": No such file or directory'),
    "a name that no file can have": (lambda: derivlint.check("a\0b"), "embedded null byte"),
    "no such key": (
        lambda: derivlint.check(SIN, settings={"selectt": []}),
        r'settings:1:1: unknown key "selectt"; did you mean "select"\?',
    ),
    "no such release": (lambda: derivlint.check(SIN, operators="1.0"), "no bundled operators of version"),
    "no operators": (lambda: derivlint.check(SIN, operators=Path("none.yaml")), 'cannot read "none.yaml"'),
    "no operator": (lambda: derivlint.emit(SIN, ops=["sine"]), 'no operator "sine"; did you mean "sin"'),
    "no namespace": (lambda: derivlint.emit(SIN, namespace="a b"), r'"a b" is not a C\+\+ namespace'),
    "no expression": (lambda: derivlint.derive("sin(", wrt=["x"], file=SIN), "1:5: "),
    "no variable": (lambda: derivlint.derive("sin(x)", wrt=["y"], file=SIN), 'has no variable "y"; it has x'),
    "nothing to derive by": (lambda: derivlint.derive("sin(x)", wrt=[], file=SIN), "no variable"),
    "too often": (lambda: derivlint.derive("sin(x)", wrt=["x"], order=9, file=SIN), "the order is 1 to 6, not 9"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_CALLS)
def test_bad_input_is_an_error_of_the_user(case: str) -> None:
    call, message = BAD_CALLS[case]
    with pytest.raises(derivlint.InputError, match=message):
        call()


@pytest.mark.parametrize("argument", [3, None, b"- name: x\n", [SIN]])
def test_other_types_are_type_errors(argument: Any) -> None:
    for function in (derivlint.check, derivlint.fix, derivlint.load_model, derivlint.emit):
        with pytest.raises(TypeError):
            function(argument)
    with pytest.raises(TypeError):
        derivlint.check(SIN, settings={"select": object()})
    with pytest.raises(TypeError):
        derivlint.check(SIN, settings={3: "x"})  # type: ignore[dict-item]


@settings(max_examples=15, deadline=None)
@given(st.text(st.characters(), max_size=40), st.sampled_from((SIN, WRONG, "")))
def test_no_text_makes_an_internal_error(text: str, rest: str) -> None:
    for function in (derivlint.check, derivlint.fix, derivlint.load_model):
        function(f"{rest}{text}\n")
    for call in (
        lambda: derivlint.emit(f"{rest}{text}\n"),
        lambda: derivlint.derive(text, wrt=["x"], file=SIN),
        lambda: derivlint.check(SIN, settings={text: text}),
        lambda: derivlint.check(SIN, settings={"ignore": [text], "severity": {text: text}}),
        lambda: derivlint.check(SIN, operators=text),
        lambda: derivlint.check(text),
    ):
        with contextlib.suppress(derivlint.InputError):
            call()


@pytest.mark.tools
@pytest.mark.long
def test_a_client_is_typed_and_runs_with_the_wheel(tmp_path: Path) -> None:
    """In an environment that has the wheel and no checkout; dependencies are those of this one."""
    source = tmp_path / "source"
    for part in ("src", "grammar", "rules"):
        shutil.copytree(ROOT / part, source / part, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for part in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "THIRD_PARTY.md"):
        shutil.copy(ROOT / part, source / part)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--wheel-dir", str(tmp_path / "wheel"), str(source)], check=True)
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    packages = next((tmp_path / "venv" / "lib").glob("*/site-packages"))
    (wheel,) = (tmp_path / "wheel").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    (packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()))
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--python-executable", str(python)]
    checked = subprocess.run([*command, str(CLIENT)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert checked.stdout == "Success: no issues found in 1 source file\n", checked.stdout + checked.stderr
    example = ROOT / "examples" / "graphs" / "derivatives.yaml"
    ran = subprocess.run([python, "-I", CLIENT, example], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (1, "")
    assert ran.stdout.rstrip().splitlines()[-1].strip().startswith("# sin, neg, mul <- <text>:12: cos")
    program = "import derivlint; print(derivlint.__file__)"
    place = subprocess.run([python, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert Path(place.stdout.strip()).is_relative_to(packages)
