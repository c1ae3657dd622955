"""Processes that derivlint starts: nothing of the current folder runs in them, they are heard, and they end with it."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

import derivlint
from derivlint.compiler import children
from derivlint.compiler.children import (
    MAX_QUOTED,
    MAX_QUOTED_LINES,
    STDERR_BYTES,
    PythonChild,
    ended_by_interrupt,
    quoted,
)
from derivlint.compiler.gxx import CompilerError, run
from tests.safety.verifying import SCRIPT, Place, place_in
from tests.sampling import sample

REPOSITORY = Path(__file__).parents[2]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")

#: Modules that derivlint, its processes or PyTorch import, or would if they were there, and that a checkout may have.
TRAPS = (
    "json", "pickle", "random", "select", "subprocess", "ctypes", "resource", "hashlib", "typing_extensions",
    "expecttest", "sitecustomize", "usercustomize", "conftest", "triton", "scipy", "opt_einsum", "yaml", "click",
    "lark", "rich",
)  # fmt: skip
#: Packages of a PyTorch checkout that is not built in place.
PACKAGES = ("torch", "tools", "aten", "torchgen", "functorch", "caffe2", "numpy", "derivlint")


@pytest.fixture
def checkout(tmp_path: Path) -> Place:
    """The root of a PyTorch checkout that was not built, in which every module says that it was executed."""
    place = place_in(tmp_path)
    trap = f"import os\nos.close(os.open({str(tmp_path / 'executed')!r} + '-' + __name__, os.O_CREAT))\n"
    for name in TRAPS:
        (place.folder / f"{name}.py").write_text(trap)
    for name in PACKAGES:
        (place.folder / name).mkdir()
        (place.folder / name / "__init__.py").write_text(trap + "raise ImportError('not built')\n")
    return place


def executed(place: Place) -> list[str]:
    """The modules of the checkout that were executed."""
    return sorted(path.name for path in place.folder.parent.glob("executed-*"))


@pytest.mark.parametrize("python_path", sample([None, "", ":", ".", "CURRENT"], 2, always=(None, "CURRENT")))
def test_verify_works_in_a_checkout_that_is_not_built(checkout: Place, python_path: str | None) -> None:
    """Nothing of it is executed, also not where PYTHONPATH names the current folder in one of many ways."""
    # what Python itself imports when it starts is out of reach: PYTHONPATH is the user's own
    for name in ("sitecustomize", "usercustomize"):
        (checkout.folder / f"{name}.py").unlink()
    more = {} if python_path is None else {"PYTHONPATH": python_path.replace("CURRENT", str(checkout.folder))}
    if more:
        # so is what the command needs before its first line runs
        for name in ("derivlint", "typing_extensions"):
            for path in (checkout.folder / name, checkout.folder / f"{name}.py"):
                if path.is_dir():
                    (path / "__init__.py").unlink()
                    path.rmdir()
                path.unlink(missing_ok=True)
    done = checkout.command("--ops", "sin", more=more)
    assert (done.returncode, done.stdout) == (0, "no findings in 1 file (1 entry, 1 formula)\n"), done.stderr
    assert executed(checkout) == []


def test_it_works_as_a_module_of_python(checkout: Place) -> None:
    """``python -m`` puts the current folder first; only what is imported before derivlint's own code can be wrong."""
    (checkout.folder / "derivlint" / "__init__.py").unlink()
    (checkout.folder / "derivlint").rmdir()
    done = checkout.command("--ops", "sin", start=(sys.executable, "-m", "derivlint"))
    assert (done.returncode, done.stdout) == (0, "no findings in 1 file (1 entry, 1 formula)\n"), done.stderr
    assert executed(checkout) == []


def test_a_broken_start_is_said_with_the_words_of_the_process(checkout: Place) -> None:
    """Where inputs have to be recorded, the recorder is isolated as well: that it works shows by its own words."""
    checkout.samples.write_bytes(b"")
    done = checkout.command("--ops", "sin", more={"TORCH_LOGS": "no-such-log-setting"})
    assert done.returncode == 4
    assert "sin is not checked: no inputs can be recorded: the process ended with exit status 1" in (done.stderr)
    assert "no-such-log-setting" in done.stderr
    assert executed(checkout) == []


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, which is another one than that of the tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(REPOSITORY))
    return tmp_path


def answer(child: PythonChild) -> object:
    """The first line that a child writes."""
    assert child.process.stdout is not None
    return json.loads(child.process.stdout.readline())


def test_children_import_what_their_parent_imports(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """derivlint and PyTorch are the same; the current folder is neither where they are nor where they look."""
    monkeypatch.syspath_prepend(str(elsewhere))
    monkeypatch.syspath_prepend("")
    monkeypatch.syspath_prepend("relative")
    child = PythonChild("tests.safety.reporting", "where")
    found = answer(child)
    assert child.process.wait() == 0
    child.end()
    assert isinstance(found, dict)
    assert (found["derivlint"], found["torch"]) == (derivlint.__file__, torch.__file__)
    assert found["cwd"] == children.NEUTRAL
    assert str(elsewhere) not in found["path"]
    assert all(os.path.isabs(path) or path.startswith("__editable__") for path in found["path"])


def test_what_a_child_says_is_kept_in_one_line_that_can_be_shown() -> None:
    """The end of it, of a traceback the last line, without control characters, and not too long."""
    assert quoted(b"") == ""
    assert quoted(b"one\n\ntwo  \n") == "one; two"
    assert quoted(b"\n".join(b"%d" % number for number in range(9))) == "; ".join(
        map(str, range(9 - MAX_QUOTED_LINES, 9))
    )
    traceback = b"Traceback (most recent call last):\n  File\n    a\nKeyError: 1\n"
    assert quoted(traceback) == "KeyError: 1"
    assert quoted(b"before\n" + traceback + b"  more\n" + b"after\n" * 5) == "KeyError: 1; more; after"
    assert quoted(b"Traceback (most recent call last):\n") == "Traceback (most recent call last):"
    assert quoted(b"\x1b[31m::error::\xff\r\xe2\x80\xae") == "\\x1b[31m::error::\ufffd; \\u202e"
    assert quoted(b"x" * 5000) == "x" * MAX_QUOTED + "..."


def test_not_all_that_a_child_says_is_kept(elsewhere: Path) -> None:
    """However much it is."""
    code = f"import os\nfor _ in range(100): os.write(2, b'x' * {STDERR_BYTES})\nos.write(2, b'end')"
    child = PythonChild("tests.safety.reporting", "where")
    child.end()
    with subprocess.Popen([sys.executable, "-I", "-c", code], stderr=subprocess.PIPE) as process:
        child.process = process
        child._tail.clear()
        child._listen()
    assert len(child._tail) == STDERR_BYTES
    assert child._tail.endswith(b"end")


def descendants(of: int) -> set[int]:
    """All processes that a process has started, and those that they have."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        try:
            parents[int(name)] = int(Path("/proc", name, "stat").read_bytes().rpartition(b")")[2].split()[1])
        except (OSError, ValueError):
            continue
    found: set[int] = set()
    more = {of}
    while more:
        more = {pid for pid, parent in parents.items() if parent in more} - found
        found |= more
    return found


def is_running(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether something comes true; on a loaded machine that takes a while."""
    for _ in range(600):
        if condition():
            return True
        time.sleep(0.05)
    return False


#: Start a child, or a compiler that starts another program, and wait.
PARENTS = {
    "idle": "from derivlint.compiler.children import PythonChild as C; c = C('tests.safety.reporting', 'wait'); "
    "print(c.process.stdout.readline().decode(), flush=True); c.process.wait()",
    "busy": "from derivlint.compiler.children import PythonChild as C; c = C('tests.safety.reporting', 'busy'); "
    "print(c.process.stdout.readline().decode(), flush=True); c.process.wait()",
    "compiler": "from derivlint.compiler.gxx import run; print('[]', flush=True); "
    "run(['/bin/sh', '-c', 'trap \"\" TERM INT HUP; sleep 3600 & sleep 3600; wait'])",
}


def _take_signals() -> None:
    """Have signals end this process, also where the tests are a job in the background, which ignores some of them."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def started(request: pytest.FixtureRequest) -> Iterator[tuple[subprocess.Popen[str], set[int]]]:
    """A process of ours, and all that it has started."""
    code = f"import sys; sys.path.append({str(REPOSITORY)!r}); {PARENTS[request.param]}"
    expected = 4 if request.param == "compiler" else 2
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=os.sep, preexec_fn=_take_signals) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        assert eventually(lambda: len(descendants(process.pid)) >= expected)
        found = descendants(process.pid)
        yield process, found
        process.kill()
    for pid in found:
        if is_running(pid):
            os.kill(pid, signal.SIGKILL)


@LINUX
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("started", PARENTS, indirect=True)
def test_children_and_theirs_end_with_their_parent(
    started: tuple[subprocess.Popen[str], set[int]], number: signal.Signals
) -> None:
    """However it is ended: forks of a child, and what a compiler has started, end as well."""
    process, found = started
    process.send_signal(number)
    process.wait()
    assert eventually(lambda: not any(map(is_running, found)))


@LINUX
def test_a_command_that_is_killed_leaves_no_process(tmp_path: Path) -> None:
    """From its first process on."""
    place = place_in(tmp_path)
    environment = {**os.environ, "DERIVLINT_CACHE_DIR": str(place.cache)}
    command = [str(SCRIPT), "verify", "derivatives.yaml", "--no-config", "--no-compile", "--all"]
    with subprocess.Popen(
        command, cwd=place.folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        assert eventually(lambda: bool(descendants(process.pid)))
        found = descendants(process.pid)
        process.kill()
    assert eventually(lambda: not any(map(is_running, found)))


@LINUX
def test_an_interrupt_ends_what_other_threads_wait_for() -> None:
    """Ctrl-C does not wait for a compiler; an interrupt that is ignored stays ignored."""
    code = (
        "import threading, time, os, signal\n"
        "from derivlint.compiler.children import ended_by_interrupt\n"
        "from derivlint.compiler.gxx import run\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ended_by_interrupt():\n"
        "    with ThreadPoolExecutor(max_workers=1) as pool:\n"
        "        waiting = [pool.submit(run, ['/bin/sleep', '3600']) for _ in range(3)]\n"
        "        print('ready', flush=True)\n"
        "        waiting[0].result()\n"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=_take_signals
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert eventually(lambda: len(descendants(process.pid)) >= 2)
        process.send_signal(signal.SIGINT)
        try:
            _, stderr = process.communicate(timeout=300)
        finally:
            process.kill()
    assert stderr.rstrip().endswith("KeyboardInterrupt")


def test_an_interrupt_that_is_ignored_stays_ignored() -> None:
    """As in a background job."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with ended_by_interrupt():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_commands_run_elsewhere_and_report_how_they_end(checkout: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Status, output and messages are those of the command; nothing of the current folder runs."""
    monkeypatch.chdir(checkout.folder)
    for name in ("os", "signal", "threading"):
        (checkout.folder / f"{name}.py").write_text((checkout.folder / "json.py").read_text())
    done = run(["/bin/sh", "-c", "pwd; echo problem >&2; exit 3"])
    assert (done.status, done.stdout, done.stderr) == (3, f"{children.NEUTRAL}\n", "problem\n")
    assert run(["/bin/sh", "-c", "kill -SEGV $$"]).status == -signal.SIGSEGV
    assert executed(checkout) == []
    with pytest.raises(CompilerError, match='cannot run "/no/such/compiler"'):
        run(["/no/such/compiler"])


def test_no_module_reads_data_that_could_run_code() -> None:
    """Neither pickles nor marshalled code, also not by a function of PyTorch that reads them."""
    forbidden = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
    files = [path for name in ("src", "rules", "grammar") for path in (REPOSITORY / name).glob("**/*.py")]
    assert len(files) > 300
    found = []
    for path in files:
        text = path.read_text(encoding="utf-8")
        if not any(word in text for word in (*forbidden, ".load", "allow_pickle")):
            continue
        for node in ast.walk(ast.parse(text)):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name.partition(".")[0] for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [(node.module or "").partition(".")[0]]
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "torch":
                names = ["pickle"] if node.attr == "load" else []
            elif isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                names = ["pickle"]
            found += [f"{path}: {name}" for name in names if name in forbidden]
    assert found == []
