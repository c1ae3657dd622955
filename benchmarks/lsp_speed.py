"""How fast the language server is, and how much memory it takes: edits of the derivatives.yaml of the installed torch.

    python benchmarks/lsp_speed.py [--edits 200] [--pauses 0.05,0.2,1,3] [--kinds formula,entry,quote,name]
                                   [--python FILE,...] [--no-ruff] [--copies 1] [--ignore-file] [--baseline]
                                   [--memory 3000]

Each edit is one of someone who works in the file: a letter in a formula, an entry that goes and comes back, an opening
quote, a letter in an operator's name; what is measured is the time from sending it (the last byte written) to the
diagnostics of that version. Every second edit takes the one before back, as undoing does; the others are printed on
their own as well, since what was found a moment ago is remembered. ``ruff server`` gets the same kinds of edits in
turn, each after the same pause, in Python files with as many lines, so that the ratios are those of one run on one
machine: a letter in an expression, a function that goes and comes back, the opening quotes of a string over several
lines, a letter in a function's name. How long it takes depends most of all on how much it finds; the files are one in
which it finds nothing, of the standard library, and those of the installed torch whose authors have derivatives.yaml
open as well. With --memory, so many edits are sent as fast as they are answered, and the memory of the server is
printed on the way. Servers are processes of their own, so the time includes both ends of the connection.
"""

from __future__ import annotations

import argparse
import asyncio
import asyncio.base_events
import inspect
import json
import json.decoder
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from subprocess import DEVNULL, PIPE
from time import perf_counter
from typing import Any, NamedTuple

from measuring import installed_files, multiplied

from derivlint.lint.baseline import Baseline, render_baseline

Json = dict[str, Any]
#: A change of a text, as the protocol has it.
Change = Json


#: Files of the installed torch that say more of the operators of derivatives.yaml: how they are composed, which sizes
#: they give, and the samples that test them.
OF_TORCH = "_decomp/decompositions.py,_meta_registrations.py,testing/_internal/common_methods_invocations.py"


def python_files(lines: int, names: Sequence[str]) -> dict[str, str]:
    """Python with as many lines, of the standard library and of files of the installed torch, by name."""
    modules = (argparse, asyncio.base_events, random, shutil, tempfile, json.decoder, inspect)
    found = {"the standard library": "\n".join(map(inspect.getsource, modules))}
    spec = find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    found |= {name: (Path(spec.origin).parent / name).read_text(encoding="utf-8") for name in names}
    return {name: "\n".join(text.split("\n")[:lines]) + "\n" for name, text in found.items()}


class Server:
    """A language server with one open file, spoken to with as little work on this side as can be."""

    def __init__(self, command: Sequence[str], language: str, path: Path, text: str) -> None:
        self.command = command
        self.text = text
        self._language = language
        self._uri = path.as_uri()
        self._folder = path.parent.as_uri()
        self._version = 0
        self._number = 0
        #: when the last byte of the last message was read
        self._arrived = 0.0

    async def start(self) -> float:
        """Start the server and open the file; the seconds to its diagnostics."""
        self._process = await asyncio.create_subprocess_exec(
            *self.command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, limit=1 << 26
        )
        push = {"textDocument": {"publishDiagnostics": {"versionSupport": True}}}
        folders = [{"uri": self._folder, "name": "benchmark"}]
        self._ask("initialize", {"processId": None, "capabilities": push, "workspaceFolders": folders})
        while "result" not in await self._message():
            pass
        self._tell("initialized", {})
        begin = perf_counter()
        document = {"uri": self._uri, "languageId": self._language, "version": 0, "text": self.text}
        self._tell("textDocument/didOpen", {"textDocument": document})
        return await self._reported(0) - begin

    async def edit(self, change: Change) -> float:
        """Make a change; the seconds to its diagnostics."""
        self._version += 1
        document = {"uri": self._uri, "version": self._version}
        self._tell("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})
        assert self._process.stdin is not None
        await self._process.stdin.drain()
        begin = perf_counter()
        return await self._reported(self._version) - begin

    async def _reported(self, wanted: int) -> float:
        while True:
            message = await self._message()
            if message.get("method") == "textDocument/publishDiagnostics" and message["params"]["version"] == wanted:
                return self._arrived

    async def _message(self) -> dict[str, Any]:
        """The next message of the server; its questions are answered with nothing."""
        assert self._process.stdout is not None
        length = 0
        while line := (await self._process.stdout.readline()).strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        body = await self._process.stdout.readexactly(length)
        self._arrived = perf_counter()
        message: dict[str, Any] = json.loads(body)
        if "id" in message and "method" in message:
            self._send({"id": message["id"], "result": None})
        return message

    def _ask(self, method: str, params: object) -> None:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})

    def _tell(self, method: str, params: object) -> None:
        self._send({"method": method, "params": params})

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def memory(self) -> float:
        """The resident memory of the server, in MB."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))

    async def stop(self) -> None:
        """End the server."""
        self._ask("shutdown", None)
        while "result" not in await self._message():
            pass
        self._tell("exit", None)
        await self._process.wait()


def _range(line: int, start: int, end_line: int, end: int) -> Json:
    return {"start": {"line": line, "character": start}, "end": {"line": end_line, "character": end}}


def _insertion(line: int, column: int, text: str) -> tuple[Change, Change]:
    there = {"range": _range(line, column, line, column), "text": text}
    return there, {"range": _range(line, column, line, column + len(text)), "text": ""}


class Language(NamedTuple):
    """Where people edit a file.

    Attributes:
        formula: what lines with formulas begin with.
        item: what the first line of each item begins with, up to its name.
        quote: what opens a string that goes on in the next line.
    """

    formula: str
    item: str
    quote: str


YAML = Language("  self: ", "- name: ", '"')
PYTHON = Language("        return ", "    def ", '"""')


class Typist:
    """Someone who works in a file and takes everything back again."""

    def __init__(self, text: str, kinds: Sequence[str], language: Language) -> None:
        self._lines = text.split("\n")
        self._random = random.Random(0)
        self._kinds = kinds
        self._language = language
        self._back: Change | None = None
        #: whether the last change took the one before back
        self.has_undone = False

    def next(self) -> Change:
        """The next change: one of the kinds, or what takes the last one back."""
        self.has_undone = self._back is not None
        if self._back is not None:
            change, self._back = self._back, None
            return change
        make: dict[str, Callable[[], tuple[Change, Change]]] = {
            "formula": self._formula,
            "name": self._name,
            "quote": self._quote,
            "entry": self._entry,
        }
        change, self._back = make[self._random.choice(self._kinds)]()
        return change

    def _line(self, beginning: str) -> int:
        return self._random.choice([at for at, line in enumerate(self._lines) if line.startswith(beginning)])

    def _formula(self) -> tuple[Change, Change]:
        line = self._line(self._language.formula)
        name = re.match(r"\W*\w*", self._lines[line][len(self._language.formula) :])
        assert name is not None
        return _insertion(line, len(self._language.formula) + name.end(), "x")

    def _name(self) -> tuple[Change, Change]:
        line = self._line(self._language.item)
        return _insertion(line, self._lines[line].index("("), "x")

    def _quote(self) -> tuple[Change, Change]:
        return _insertion(self._line(self._language.formula), len(self._language.formula), self._language.quote)

    def _entry(self) -> tuple[Change, Change]:
        item = self._language.item
        first = self._line(item)
        last = next((at for at in range(first + 1, len(self._lines)) if self._lines[at].startswith(item)), first)
        text = "".join(f"{line}\n" for line in self._lines[first:last])
        back = {"range": _range(first, 0, first, 0), "text": text}
        return {"range": _range(first, 0, last, 0), "text": ""}, back


def spread(times: list[float]) -> dict[str, float]:
    """Percentiles of times, in seconds."""
    times = sorted(times)
    at = {name: times[min(int(len(times) * part), len(times) - 1)] for name, part in (("p50", 0.5), ("p95", 0.95))}
    return {**at, "max": times[-1]}


def shown(name: str, found: dict[str, float]) -> str:
    """Percentiles in words."""
    values = ", ".join(f"{key} {1000 * value:.1f} ms" for key, value in found.items())
    return f"{name}: edit to diagnostics: {values}"


async def measure(given: argparse.Namespace) -> None:
    """Print what is measured."""
    kinds = given.kinds.split(",")
    pauses = [float(pause) for pause in given.pauses.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder).resolve()
        files = installed_files()
        settings = ""
        if given.copies > 1:
            files = multiplied(files, given.copies, path)
            settings = f'native-functions = ["{files.native_functions.name}"]\n'
        if given.baseline:
            settings += 'baseline = "baseline.json"\n'
            (path / "baseline.json").write_text(render_baseline(Baseline()), encoding="utf-8")
        if settings:
            (path / "derivlint.toml").write_text(settings, encoding="utf-8")
        text = files.derivatives.read_text(encoding="utf-8")
        if given.ignore_file:
            text = f"# derivlint: ignore-file[undefined-name] to measure it\n{text}"
        ours = Server([sys.executable, "-m", "derivlint", "lsp"], "yaml", path / "derivatives.yaml", text)
        servers = {"derivlint": (ours, Typist(text, kinds, YAML))}
        ruff = shutil.which("ruff", path=str(Path(sys.executable).parent)) or shutil.which("ruff")
        if ruff is not None and not given.no_ruff:
            names = [name for name in given.python.split(",") if name]
            for name, python in python_files(text.count("\n"), names).items():
                module = path / f"module{len(servers)}" / "module.py"
                module.parent.mkdir()
                module.write_text(python, encoding="utf-8")
                server = Server([ruff, "server"], "python", module, python)
                servers[f"ruff server, {name}"] = (server, Typist(python, kinds, PYTHON))
        times: dict[str, list[tuple[float, bool]]] = {name: [] for name in servers}
        for name, (server, _) in servers.items():
            print(f"{name}: open: {await server.start():.2f} s")
        for number in range(given.edits):
            for name, (server, typist) in servers.items():
                await asyncio.sleep(pauses[number % len(pauses)])
                change = typist.next()
                times[name].append((await server.edit(change), typist.has_undone))
        for title, wanted in (("all edits", (True, False)), ("without those that undo", (False,))):
            chosen = {name: [time for time, undone in each if undone in wanted] for name, each in times.items()}
            found = {name: spread(each) for name, each in chosen.items()}
            print(f"{title}: {len(chosen['derivlint'])}")
            for name, values in found.items():
                print(shown(name, values))
            at = found.pop("derivlint")
            for name, values in found.items():
                print(f"derivlint / {name}: " + ", ".join(f"{key} {at[key] / values[key]:.2f}" for key in at))
        typist = servers["derivlint"][1]
        for number in range(given.memory + 1):
            if number % max(given.memory // 10, 1) == 0:
                print(f"memory after {number:,} more edits: {ours.memory():.0f} MB", flush=True)
            if number < given.memory:
                await ours.edit(typist.next())
        for server, _ in servers.values():
            await server.stop()


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--edits", type=int, default=200)
    parser.add_argument("--pauses", default="0.05,0.2,1", help="seconds before edits, in turn")
    parser.add_argument("--kinds", default="formula,entry,quote,name", help="the kinds of edits")
    parser.add_argument("--python", default=OF_TORCH, help="files of torch for ruff server, beside one of Python's own")
    parser.add_argument("--no-ruff", action="store_true", help="leave out ruff server")
    parser.add_argument("--copies", type=int, default=1, help="all entries and operators so often, by other names")
    parser.add_argument("--ignore-file", action="store_true", help="with a comment for the whole file")
    parser.add_argument("--baseline", action="store_true", help="with a baseline")
    parser.add_argument("--memory", type=int, default=0, help="so many edits more, with the memory on the way")
    asyncio.run(measure(parser.parse_args()))


if __name__ == "__main__":
    main()
