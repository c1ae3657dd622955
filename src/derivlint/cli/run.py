"""``derivlint run``: run a program with the derivatives of a file in place of the installed PyTorch's."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from msgspec import Struct

from derivlint.cli.checking.watch import run_and_watch, watch_paths
from derivlint.cli.shared.help import GroupedCommand
from derivlint.cli.shared.inputs import FallbackPolicy, resolve_inputs
from derivlint.cli.shared.loading import load_model, print_findings
from derivlint.cli.shared.options import EXISTING, inputs, operator_options, ops_option
from derivlint.cli.shared.terminal import USAGE, Progress, results_to_stderr, warn
from derivlint.compiler.child import end_with_parent
from derivlint.lint import Severity
from derivlint.lint.wording import counted
from derivlint.project.errors import InputError
from derivlint.project.settings import SettingsOfFiles

if TYPE_CHECKING:
    from derivlint.api.replacing import Replacement, ReplacementError
    from derivlint.project.loading import Loaded

_START = Path(__file__).parents[1] / "runtime" / "start.py"
_SEPARATOR = "--"
#: The end of the message about a completed step.
_DONE = re.compile(r" in \d+\.\d s$")
#: The maximum number of printed compiler messages that are not about formulas.
_MAX_MESSAGES = 5


class Program(Struct, frozen=True):
    """A Python program, in the forms that ``python`` accepts.

    Attributes:
        kind: ``file``, ``module`` or ``code``; empty for an interactive shell.
        text: the path, the name or the code.
        arguments: its arguments.
    """

    kind: str = ""
    text: str = ""
    arguments: tuple[str, ...] = ()

    @classmethod
    def read(cls, words: Sequence[str]) -> Program:
        """Parse the program after ``--``.

        Raises:
            InputError: the words do not name a program.
        """
        kinds = {"-m": "module", "-c": "code"}
        if not words:
            return cls()
        first, *rest = words
        if first in kinds:
            if not rest:
                raise InputError(f'"{first}" needs {"a module" if first == "-m" else "code"}')
            return cls(kinds[first], rest[0], tuple(rest[1:]))
        if first.startswith("-"):
            raise InputError(f'"{first}" is not a program; name a .py file, -m MODULE or -c CODE')
        if not os.path.isfile(first):
            raise InputError(f'no program "{first}"; name a .py file, -m MODULE or -c CODE')
        return cls("file", first, tuple(rest))


class RunCommand(GroupedCommand):
    """A command that passes the arguments after ``--`` to a program."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments before ``--``, and store the rest."""
        place = args.index(_SEPARATOR) if _SEPARATOR in args else len(args)
        ctx.obj = tuple(args[place + 1 :])
        return super().parse_args(ctx, args[:place])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the usage, with the program."""
        return [*super().collect_usage_pieces(ctx), "[-- PROGRAM [ARGS]...]"]


@click.command(cls=RunCommand, short_help="Run a program with a file's derivatives in the installed PyTorch.")
@click.argument("paths", nargs=-1, metavar="[FILE]", callback=inputs)
@ops_option("Replace these operators. [default: those whose entries differ]")
@click.option("--compare", is_flag=True, help="Compare losses and gradients with those of a run on stock.")
@click.option("--watch", is_flag=True, help="Run again whenever the file or the program changes.")
@click.option("--helpers", type=EXISTING, help="Compile this FunctionsManual.cpp with the formulas.")
@click.option("--compiler", metavar="NAME", help="Use this C++ compiler. [default: $CXX, else clang++, else g++]")
@click.option("--quiet", "-q", is_flag=True, help="Print errors only.")
@operator_options
def run(
    paths: tuple[str, ...],
    ops: tuple[str, ...],
    compare: bool,
    watch: bool,
    helpers: Path | None,
    compiler: str | None,
    quiet: bool,
    no_config: bool,
    **setting_options: Any,
) -> None:
    """Run a program with a file's derivatives in the installed PyTorch.

    Entries that differ from the installed PyTorch's own are compiled, which takes seconds, and take the place of its
    kernels. PROGRAM is a .py file, -m MODULE or -c CODE; without one, a Python shell starts. Lines of derivlint go to
    standard error.

    --compare runs the program twice, first on stock, with the same random seed, and compares the losses and gradients
    of each call of backward and grad.

    Exit status: the program's; 2 if nothing could be compiled or loaded.
    """
    results_to_stderr()
    context = click.get_current_context()
    if not hasattr(os, "fork"):
        raise InputError("run needs Linux or macOS")
    program = Program.read(context.obj)
    for option, is_set in (("--watch", watch), ("--compare", compare)):
        if is_set and not program.kind:
            raise InputError(f"{option} needs a program to run again")
    command = _Run(ops, compare, helpers, compiler, quiet, no_config, setting_options)
    if watch:
        interpreter = _Interpreter(program)
        run_and_watch(context, lambda: command.again(paths, interpreter))
    command.replace_process(paths, program)


class _Interpreter:
    """A process that imports PyTorch while entries are compiled, and then runs the program with them.

    Args:
        program: the program.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self._start()

    def _start(self) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            command = _command(self.program, theirs.fileno())
            self._process = subprocess.Popen(command, pass_fds=(theirs.fileno(),))

    def run(self, task: bytes) -> int:
        """Run the program to its end, start the process of the next run, and return the status of the program."""
        try:
            with self._socket:
                # one that was killed while it waited shows its status
                with suppress(BrokenPipeError):
                    self._socket.sendall(task)
                self._socket.shutdown(socket.SHUT_WR)
                status = self._process.wait()
        except BaseException:
            self._process.kill()
            raise
        self._start()
        return status


class _Run(Struct, frozen=True):
    ops: tuple[str, ...]
    compare: bool
    helpers: Path | None
    compiler: str | None
    quiet: bool
    no_config: bool
    setting_options: dict[str, Any]

    def _task(self, paths: tuple[str, ...], program: Program) -> bytes:
        """Compile the entries that replace PyTorch's, and return the task for the process that runs the program.

        Raises:
            InputError: a requirement is missing, or no code can be generated.
        """
        from derivlint.api.replacing import ReplacementError, findings_in, parts_to_replace, replace_operators

        began = time.monotonic()
        loaded = self._loaded(paths, program)
        parts = parts_to_replace(loaded.model, self.ops)
        self._report_time("read the file", began)
        if not parts:
            self._report_step(
                f'no entry of "{loaded.source.path}" differs from the installed PyTorch; running on stock'
            )
            return self._with_libraries((), program)
        self._report_step(f"replacing {', '.join(part.label for part in parts)}")
        least = Severity.ERROR if self.quiet else Severity.INFO
        start = time.monotonic()
        print_findings(loaded.model, [item for item in findings_in(loaded, parts) if item.severity >= least], "auto")
        self._report_time("checked the entries", start)
        try:
            with Progress(is_quiet=self.quiet) as progress:

                def show(step: str) -> None:
                    if _DONE.search(step):
                        self._report_step(step)
                    else:
                        progress(step)

                made = replace_operators(loaded, parts, compiler=self.compiler, helpers=self.helpers, progress=show)
        except ReplacementError as error:
            _report(loaded, error)
            click.get_current_context().exit(USAGE)
        self._summarize(made)
        self._report_time("ready", began)
        return self._with_libraries([replacement.library for replacement in made], program)

    def _with_libraries(self, libraries: Sequence[Path], program: Program) -> bytes:
        task = {
            "libraries": list(map(str, libraries)),
            "kind": program.kind,
            "program": program.text,
            "quiet": self.quiet,
            "compare": self.compare,
        }
        return json.dumps(task).encode()

    def _loaded(self, paths: tuple[str, ...], program: Program) -> Loaded:
        options = {**self.setting_options, "torch": self.setting_options.get("torch") or "installed"}
        if not paths:
            # the default file of a check, not that of the installed torch, which it is compared with
            lookup = SettingsOfFiles(self.no_config, **self.setting_options)
            paths = tuple(resolve_inputs(lookup, (), None, FallbackPolicy.WHEREVER_NONE_IS_FOUND).files)
        loaded = load_model(paths, None, self.no_config, **options)
        watch_paths([loaded.source.path, *([program.text] if program.kind == "file" else [])])
        return loaded

    def _report_step(self, text: str) -> None:
        if not self.quiet:
            warn(text)

    def _report_time(self, step: str, start: float) -> None:
        self._report_step(f"{step} in {time.monotonic() - start:.1f} s")

    def _summarize(self, made: Sequence[Replacement]) -> None:
        for replacement in made:
            nodes = ", ".join(dict.fromkeys(node for node in replacement.nodes.values() if node is not None))
            count = counted(len(replacement.nodes), "kernel")
            state = "compiled" if replacement.is_new else "unchanged since the last run"
            self._report_step(f"{replacement.part.label}: {count}, {nodes or 'no node'} ({state})")
            for name, reason in replacement.left_out.items():
                self._report_step(f"{name} keeps PyTorch's kernel: {reason}")

    def again(self, paths: tuple[str, ...], interpreter: _Interpreter) -> None:
        """Compile and run once; the process of the next run imports PyTorch while the file is edited."""
        status = interpreter.run(self._task(paths, interpreter.program))
        self._report_step(f"the program ended with status {status}")

    def replace_process(self, paths: tuple[str, ...], program: Program) -> NoReturn:
        """Replace this process by that of the program, which imports PyTorch while a child compiles."""
        parent = os.getpid()
        socket_of_program, ours = socket.socketpair()
        if os.fork():
            socket_of_program.set_inheritable(True)
            os.execv(sys.executable, _command(program, socket_of_program.fileno()))
        socket_of_program.close()
        # Ctrl-C ends the parent, and with it this process
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        end_with_parent(ours.fileno(), parent)
        task = self._task(paths, program)
        ours.sendall(task)
        os._exit(0)


def _command(program: Program, receiver: int) -> list[str]:
    """The command line of a process that receives its task at a file descriptor."""
    shell = [] if program.kind else ["-i"]
    return [sys.executable, *shell, str(_START), str(receiver), *program.arguments]


def _report(loaded: Loaded, error: ReplacementError) -> None:
    """Print compiler errors: those in formulas with their locations in the YAML, others verbatim."""
    from derivlint.cli.compiled import messages_of

    messages = messages_of(loaded.model, [error.output])
    print_findings(loaded.model, messages.diagnostics, "auto")
    for line in messages.unplaced[:_MAX_MESSAGES]:
        warn(line)
    warn(f"{error.part.label} does not compile" if messages.diagnostics else f"{error.part.label}: {error}")
