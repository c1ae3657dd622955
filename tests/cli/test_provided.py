"""Commands where no derivatives file is named or found: what stands in, what is said of it, and when nothing does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from derivlint.operators.book import BOOK_OF_DERIVATIVES
from derivlint.project.files import EXAMPLE
from derivlint.schema import NativeFunctions, installed_torch
from tests.cli.conftest import ADD, Run
from tests.sampling import sample

NOTE = (
    "derivlint: no derivatives file is named or found: using {} (no PyTorch is installed), "
    "{}; name a file to use another\n"
)
#: A command line of every command that needs entries.
COMMANDS = (
    ("check",), ("show", "sinh"), ("coverage",), ("coverage", "--judged"), ("derive", "sin(mul(x, x))", "--wrt", "x"),
    ("model",), ("emit", "cpp", "--ops", "sinh"), ("emit", "python", "--ops", "sinh"),
)  # fmt: skip


@pytest.fixture(autouse=True)
def nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CI", "PRE_COMMIT", "DERIVLINT_UNTRUSTED"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("derivlint.schema.installed_torch", lambda: None)


@pytest.mark.usefixtures("without_torch")
@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: " ".join(arguments[:2]))
def test_without_pytorch_every_command_takes_a_file_of_derivlint(run: Run, arguments: tuple[str, ...]) -> None:
    """Where an expression is differentiated, the operator book, which has more and no mistakes; else the example."""
    outcome = run(*arguments)
    used = ("that of derivlint's operator book", BOOK_OF_DERIVATIVES)
    if arguments[0] != "derive":
        used = ("derivlint's example", EXAMPLE)
    assert (outcome.status, outcome.err) == (0, NOTE.format(*used))
    assert outcome.out


@pytest.mark.parametrize(
    "arguments",
    sample(COMMANDS, 3, always=[("check",), ("show", "sinh")], seed=1),
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_with_pytorch_every_command_takes_its_file(
    run: Run, derivatives_path: Path, arguments: tuple[str, ...]
) -> None:
    torch = installed_torch()
    assert torch is not None
    outcome = run(*arguments)
    # PyTorch's own file has errors
    assert outcome.status == (1 if arguments == ("check",) else 0)
    assert outcome.err == (
        f"derivlint: no derivatives file is named or found: using the one of the installed PyTorch {torch.version}, "
        f"{derivatives_path}; name a file to use another\n"
    )
    assert outcome.out


def test_the_operators_are_those_of_the_installed_pytorch(run: Run, derivatives_path: Path) -> None:
    torch = installed_torch()
    assert torch is not None
    assert torch.release is not None
    lines = run("check", "--show-settings").out.splitlines()
    assert lines[0] == f"file: {derivatives_path}"
    release = torch.release.rpartition(".")[0]
    expected = f"  operators: bundled operator index of PyTorch {release} (requested by the installed PyTorch)"
    assert expected in lines


@pytest.mark.usefixtures("without_torch")
def test_the_example_is_clean_and_has_every_kind_of_operator(run: Run, bundled_natives: NativeFunctions) -> None:
    (document,) = json.loads(f"[{run('model', str(EXAMPLE)).out}]")
    # what is lost in half precision is lost in PyTorch's own formulas too
    assert run("check", str(EXAMPLE), "--preview", "--ignore", "precision").status == 0
    entries = [info for info in document["infos"] if info["source"]["kind"] == "entry"]
    assert 60 <= len({info["name"] for info in entries}) <= 70
    assert {info["key"] for info in entries} == {"Default", "AutogradNestedTensor"}
    schemas = [info["schema"] for info in entries]
    for kind in ("(Tensor(a) self", "_(Tensor(a!) self", "Tensor[] tensors", "-> (Tensor values, Tensor indices)"):
        assert any(kind in schema for schema in schemas)
    assert all(bundled_natives.by_schema(schema) is not None for schema in schemas)
    # it is not taken for PyTorch's file, where every operator without an entry would be listed
    assert run("coverage", str(EXAMPLE)).out.count("\n") < 100


@pytest.mark.usefixtures("without_torch")
@pytest.mark.parametrize(
    "options", [("--fix",), ("--diff",), ("--add-ignores", "x"), ("--update-baseline",), ("--diff-base", "HEAD")]
)
def test_nothing_stands_in_where_a_file_is_written_or_compared(run: Run, options: tuple[str, ...]) -> None:
    outcome = run("check", *options)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith("derivlint: ")


@pytest.mark.parametrize("variable", ["CI", "PRE_COMMIT", "DERIVLINT_UNTRUSTED"])
def test_a_check_that_a_machine_asks_for_fails_without_a_file(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """Else a file that was moved would be taken for a clean one."""
    monkeypatch.setenv(variable, "1")
    outcome = run("check")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == (
        'derivlint: nothing to check: no "*derivatives*.yaml" or tools/autograd/derivatives.yaml in '
        f'"{here}" or above it; name a file or a folder, or use --torch installed\n'
    )


def test_a_check_in_a_project_fails_without_a_file(run: Run, here: Path) -> None:
    (here / "derivlint.toml").write_text("preview = true\n")
    outcome = run("check")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith("derivlint: nothing to check: ")


def test_operators_that_are_named_are_those_of_another_file(run: Run, here: Path) -> None:
    (here / "native.yaml").write_text(ADD)
    outcome = run("show", "add_one", "--native-functions", "native.yaml")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith("derivlint: nothing to check: ")


@pytest.mark.usefixtures("without_torch")
def test_code_is_printed_only_of_operators_that_are_named(run: Run) -> None:
    message = "name a destination with --out, or operators to print with --ops"
    for command in ("cpp", "python"):
        outcome = run("emit", command)
        assert (outcome.status, outcome.out, outcome.err) == (2, "", f"derivlint: {message}\n")
        outcome = run("emit", command, "--ops", "sinh", "--check")
        assert (outcome.status, outcome.err) == (2, "derivlint: --check needs --out\n")
    assert "==> nodes.h <==\n" in run("emit", "cpp", "--ops", "sinh").out
