"""Commands that are killed: two seconds after a signal at a random moment no process is left of those that a command
started, its pipes have ended, and every file is as it was or as the command makes it.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from derivlint.schema import installed_torch
from tests.sampling import CAMPAIGN, sample

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found as Linux lists them")

#: Seconds until nothing may be left.
GRACE = 2.0
#: The variable by which processes of a run are known.
MARK = "DERIVLINT_KILLED_RUN"
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
#: Commands that compile, and keep headers and libraries for the next run.
COMPILING = ("verify", "run", "compare")
#: What an editor sends: initialize, then a text to check.
HELLO = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{},"processId":null,"rootUri":null}}',
    b'{"jsonrpc":"2.0","method":"initialized","params":{}}',
)


@dataclass(frozen=True)
class Command:
    """A command to kill.

    Attributes:
        arguments: its arguments; OUT stands for a folder to write to.
        longest: seconds after which it has hardly anything left to do.
        files: the files that it may change.
    """

    arguments: tuple[str, ...]
    longest: float
    files: tuple[str, ...] = ()


@dataclass
class Bench:
    """A folder in which commands run.

    Attributes:
        folder: the folder.
        commands: the commands by name.
        contents: what each file may hold.
    """

    folder: Path
    commands: dict[str, Command]
    contents: dict[str, set[bytes]] = field(default_factory=dict)


def bench(folder: Path) -> Bench:
    """A repository with PyTorch's file, changed since its first commit, and emitted code of the file before."""
    torch = installed_torch()
    assert torch is not None
    assert torch.derivatives is not None
    text = torch.derivatives.read_text(encoding="utf-8")
    if not CAMPAIGN:
        head, *entries = re.split(r"(?m)^(?=- name: )", text)
        emitted = [entry for entry in entries if re.match(r"- name: (sinh|cosh|mm)\(", entry)]
        text = head + "".join(sample(entries, 100, always=emitted))
    path = folder / "derivatives.yaml"
    path.write_text(text, encoding="utf-8")
    (folder / "small.yaml").write_text("- name: sinh(Tensor self) -> Tensor\n  self: grads[0] * self.cosh().conj()\n")
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    commands = {
        "check": Command(("check", "derivatives.yaml", "--no-cache"), 6.0),
        "fix": Command(("check", "small.yaml", "--fix", "--no-cache"), 1.5, ("small.yaml",)),
        "python": Command(
            ("emit", "python", "derivatives.yaml", "--ops", "sinh,cosh,mm", "--out", "ops.py"), 8.0, ("ops.py",)
        ),
        "cpp": Command(
            ("emit", "cpp", "derivatives.yaml", "--ops", "sinh,cosh,mm", "--out", "out"), 5.0, ("out/nodes.h",)
        ),
        "review": Command(("review", "HEAD", "derivatives.yaml"), 6.0),
        "lsp": Command(("lsp",), 6.0),
        "verify": Command(("verify", "derivatives.yaml", "--ops", "sinh", "--no-base"), 12.0),
        "suggest": Command(("suggest", "sinh", "derivatives.yaml"), 6.0),
        "run": Command(("run", "derivatives.yaml", "--", "-c", "pass"), 20.0),
        "compare": Command(("run", "derivatives.yaml", "--compare", "--", "-c", "import time; time.sleep(3)"), 30.0),
    }
    made = Bench(folder, commands)
    written = [name for command in commands.values() for name in command.files]
    for change in (False, True):
        if change:
            path.write_text(
                text.replace("grad * self.cosh().conj()", "grad * self.cosh().conj() * 1"), encoding="utf-8"
            )
        for name in ("fix", "python", "cpp"):
            before = (folder / "small.yaml").read_bytes()
            run = [sys.executable, "-m", "derivlint", *commands[name].arguments]
            subprocess.run(run, cwd=folder, check=False, capture_output=True)
            for file in commands[name].files:
                made.contents.setdefault(file, {before} if file == "small.yaml" else set())
                made.contents[file].add((folder / file).read_bytes())
            if name == "fix":
                (folder / "small.yaml").write_bytes(before)
    assert len(written) == len(made.contents)
    return made


def processes_of(mark: str) -> list[str]:
    """The command lines of the processes of a run."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                environment = Path(entry.path, "environ").read_bytes()
                state = Path(entry.path, "stat").read_text().rpartition(")")[2].split()[0]
                if wanted in environment.split(b"\0") and state != "Z":
                    found.append(Path(entry.path, "cmdline").read_bytes().replace(b"\0", b" ").decode()[:100])
            except OSError:
                continue
    return found


def framed(message: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(message), message)


def killed(bench: Bench, name: str, number: signal.Signals, delay: float) -> list[str]:
    """Problems after a command was killed so many seconds after its start."""
    command = bench.commands[name]
    mark = uuid.uuid4().hex
    environment = {**os.environ, MARK: mark, "DERIVLINT_CACHE_DIR": str(bench.folder / f"cache-{name}")}
    if name not in COMPILING:
        shutil.rmtree(bench.folder / f"cache-{name}", ignore_errors=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "derivlint", *command.arguments],
        cwd=bench.folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    if name == "lsp":
        text = (
            (bench.folder / "derivatives.yaml")
            .read_text()
            .replace("\\", "\\\\")
            .replace('"', '\\"')
            .replace("\n", "\\n")
        )
        opened = (
            '{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"'
            f'{(bench.folder / "derivatives.yaml").as_uri()}","languageId":"yaml","version":0,"text":"{text}"}}}}}}'
        )
        process.stdin.write(b"".join(map(framed, (*HELLO, opened.encode()))))
        process.stdin.flush()
    os.set_blocking(process.stdout.fileno(), False)
    started = time.monotonic()
    while time.monotonic() - started < delay and process.poll() is None:
        time.sleep(min(0.05, delay))
        process.stdout.read()
    if process.poll() is None:
        process.send_signal(number)
    deadline = time.monotonic() + GRACE
    has_ended, left = False, ["?"]
    while time.monotonic() < deadline and not (has_ended and not left):
        has_ended = has_ended or process.stdout.read() == b""
        process.poll()
        left = processes_of(mark)
        time.sleep(0.05)
    wrong = [f"left: {line}" for line in left]
    if not has_ended and process.stdout.read() != b"":
        wrong.append("its output has not ended")
    for file in command.files:
        path = bench.folder / file
        if path.exists() and path.read_bytes() not in bench.contents[file]:
            wrong.append(f"{file} is neither old nor new")
    for line in processes_of(mark):
        print("ended by hand:", line)
    if left:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdin.close()
    process.stdout.close()
    if name == "fix":
        (bench.folder / "small.yaml").write_bytes(
            min(bench.contents["small.yaml"], key=lambda data: b"grads" not in data)
        )
    return wrong


def campaign(bench: Bench, names: Sequence[str], count: int, seed: int) -> list[str]:
    """Kill commands so many times; what was wrong, each with what repeats it."""
    random = Random(seed)
    wrong = []
    for number in range(count):
        name, sent = random.choice(list(names)), random.choice(SIGNALS)
        delay = random.uniform(0.02, bench.commands[name].longest)
        found = killed(bench, name, sent, delay)
        wrong += [f"{name}, {sent.name} after {delay:.2f} s: {each}" for each in found]
        if found or number % 20 == 19:
            print(f"{number + 1:4}: {name} {sent.name} {delay:.2f} s {found or 'ok'}", flush=True)
    return wrong


def test_a_terminated_run_says_so_and_leaves_no_file(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "derivlint", "check", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path,
    )  # fmt: skip
    time.sleep(3.0)
    process.terminate()
    out, err = process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    assert out == b""
    assert b"Traceback" not in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_a_sample_of_kills(tmp_path: Path) -> None:
    made = bench(tmp_path)
    names = [name for name in made.commands if CAMPAIGN or name not in COMPILING]
    assert campaign(made, names, 300 if CAMPAIGN else 3, 11) == []
