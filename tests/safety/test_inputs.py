"""Input is regular files: whatever names a pipe or a device otherwise is refused by name, at once."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from derivlint.source import SourceError, open_input, read_bytes, read_input

pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipes and devices are those of POSIX")

DERIVATIVES = "- name: sin(Tensor self) -> Tensor\n  self: grad * self.cos().conj()\n  result: auto_element_wise\n"
#: Seconds within which a refusal has to be said, with the start of Python.
AT_ONCE = 20.0

KEYS = ("headers", "native-functions", "tags", "helper-bodies", "baseline", "paths")
#: What a configuration may name; PIPE and SOCKET are made in the folder, LINK leads to standard input.
PLACES = ("/dev/stdin", "/proc/self/fd/0", "/dev/fd/0", "/dev/zero", "/proc/self/mem", "pipe", "socket", "link", ".")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a derivatives file, a pipe, a socket, and a link to standard input."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DERIVLINT_CACHE_DIR", os.devnull)
    Path("derivatives.yaml").write_text(DERIVATIVES)
    Path("operators.yaml").write_text("- func: mine(Tensor self) -> Tensor\n")
    os.mkfifo("pipe")
    Path("link").symlink_to("/dev/stdin")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket")
    return tmp_path


@pytest.fixture
def endless() -> Iterator[int]:
    """The reading end of a pipe that no one ever writes to or closes."""
    reading, writing = os.pipe()
    yield reading
    os.close(reading)
    os.close(writing)


def derivlint(*arguments: str, stdin: int | None = None, passed: tuple[int, ...] = ()) -> tuple[int, str, str]:
    """The status and the output of a command that must end by itself."""
    process = subprocess.Popen(
        [sys.executable, "-m", "derivlint", *arguments],
        stdin=subprocess.DEVNULL if stdin is None else stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=passed,
        text=True,
    )
    try:
        out, err = process.communicate(timeout=AT_ONCE)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    return process.returncode, out, err


def configuration(key: str, place: str) -> str:
    """A configuration whose key names a place; tags are read beside native functions."""
    value = f'"{place}"' if key in ("tags", "helper-bodies", "baseline") else f'["{place}"]'
    operators = 'native-functions = ["operators.yaml"]\n' if key == "tags" else ""
    return f"{operators}{key} = {value}\n"


@pytest.mark.parametrize("key", KEYS)
def test_a_configuration_cannot_have_the_command_wait(here: Path, key: str, endless: int) -> None:
    """Standard input is what a hook or a build server leaves open."""
    Path("derivlint.toml").write_text(configuration(key, "/dev/stdin"))
    arguments = ("check",) if key == "paths" else ("check", "derivatives.yaml")
    status, out, err = derivlint(*arguments, stdin=endless)
    assert (status, out) == (2, "")
    assert "/dev/stdin" in err
    assert "it is not a regular file" in err


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("key", KEYS)
def test_every_place_is_refused_by_name(here: Path, capsys: pytest.CaptureFixture[str], key: str, place: str) -> None:
    from derivlint.cli.main import cli
    from tests.running import runner

    Path("derivlint.toml").write_text(configuration(key, place))
    started = time.monotonic()
    arguments = ["check"] if key == "paths" else ["check", "derivatives.yaml"]
    done = runner().invoke(cli, arguments)
    if key == "paths" and place == ".":
        # the folder itself, in which the derivatives file is found
        assert done.exit_code == 0
        return
    assert done.exit_code == 2, done.output
    assert (place if place != "." else "Is a directory") in done.stderr
    assert time.monotonic() - started < AT_ONCE


def test_a_pattern_of_a_configuration_finds_no_device(here: Path, endless: int) -> None:
    Path("derivlint.toml").write_text('native-functions = ["/dev/std[i]n"]\n')
    status, _, err = derivlint("check", "derivatives.yaml", stdin=endless)
    assert status == 2
    assert 'cannot read "/dev/stdin": it is not a regular file' in err


def test_what_a_shell_gives_is_read(here: Path) -> None:
    """``derivlint check <(...) --headers <(...)``, ``@<(...)`` and ``/dev/stdin``."""

    def given(text: str) -> tuple[int, str]:
        reading, writing = os.pipe()
        os.write(writing, text.encode())
        os.close(writing)
        return reading, f"/dev/fd/{reading}"

    wrong = DERIVATIVES.replace("self.cos()", "helper(self)")
    file, name = given(wrong)
    header, header_name = given("namespace mine { at::Tensor helper(const at::Tensor& self); }\n")
    status, out, err = derivlint("check", name, "--headers", header_name, passed=(file, header))
    assert (status, err) == (0, ""), out
    listed, list_name = given("derivatives.yaml\n")
    assert derivlint("check", f"@{list_name}", passed=(listed,))[0] == 0
    stdin, _ = given(DERIVATIVES)
    assert derivlint("check", "/dev/stdin", stdin=stdin)[0] == 0
    for handle in (file, header, listed, stdin):
        os.close(handle)


def test_what_the_command_line_named_counts_for_that_command_only(here: Path) -> None:
    from derivlint.cli.main import cli
    from tests.running import runner

    assert runner().invoke(cli, ["check", "/dev/null"]).exit_code in (0, 1)
    Path("derivlint.toml").write_text('headers = ["/dev/null"]\n')
    done = runner().invoke(cli, ["check", "derivatives.yaml"])
    assert done.exit_code == 2
    assert 'cannot read "/dev/null": it is not a regular file' in done.stderr


def test_a_list_of_paths_cannot_name_a_device(here: Path) -> None:
    Path("list").write_text("/dev/zero\n")
    status, _, err = derivlint("check", "@list")
    assert (status, err) == (2, 'derivlint: cannot read "/dev/zero": it is not a regular file\n')


def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kind of a file is looked at again when it is open."""
    regular = os.stat("derivatives.yaml")
    real = os.stat
    monkeypatch.setattr(os, "stat", lambda path, **options: regular if path == "pipe" else real(path, **options))
    with pytest.raises(OSError, match="it is not a regular file"):
        open_input("pipe")


def test_sizes_are_bounded(here: Path) -> None:
    Path("large").write_bytes(b"x" * 1025)
    assert len(read_input("large", 1025)) == 1025
    with pytest.raises(SourceError, match='cannot read "it": it is larger than 1 KiB'):
        read_bytes("large", "it", 1024)


def test_nothing_else_opens_input() -> None:
    """Modules read files by ``derivlint.source``; what is shipped with the package is read as it is."""
    root = Path(__file__).parents[2] / "src" / "derivlint"
    allowed = {
        # what derivlint ships
        "cpp/known_names.py", "cpp/relations.py", "cpp/library.py", "emit/python/calls.py",
        "emit/template.py", "graph/differentiation/entries.py", "operators/book.py", "operators/history.py",
        "operators/common_mistakes.py", "verify/inputs/recipes.py", "verify/inputs/samples.py",
        "operators/reference/definitions.py", "operators/reference/derived.py", "operators/reference/sums.py",
        "operators/reference/terms.py", "operators/shapes/size_cases.py", "operators/shapes/sizes.py",
        "schema/index.py", "verify/code/engine.py", "verify/code/wrappers.py", "verify/comparison/exact.py",
        "verify/known.py",
        # the installed PyTorch
        "runtime/shipped.py",
    }  # fmt: skip
    readers = (".read_text(", ".read_bytes(", '.open("rb")')
    found = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if any(reader in path.read_text(encoding="utf-8") for reader in readers)
    }
    assert found == allowed
