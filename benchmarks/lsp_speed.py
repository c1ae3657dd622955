"""How fast the language server is, and how much memory it takes: edits of the derivatives.yaml of the installed torch.

    python benchmarks/lsp_speed.py [--edits 200] [--pause 0.2] [--memory 10000]

Each edit changes a formula somewhere in the file; what is measured is the time from sending it to the diagnostics of
that version. With --memory, so many edits are sent as fast as they are answered, and the memory of the server is
printed on the way. The server is a process of its own, so the time includes both ends of the connection.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

from lsprotocol import types
from pygls.lsp.client import LanguageClient

URI = "file:///benchmark/derivatives.yaml"


def real_file() -> str:
    """The text of the file that the installed torch ships."""
    spec = find_spec("torchgen")
    if spec is None or spec.origin is None:
        raise SystemExit("no torch is installed in this Python")
    return (Path(spec.origin).parent / "packaged/autograd/derivatives.yaml").read_text(encoding="utf-8")


class Typist:
    """Somebody who writes a letter into a formula and deletes it again, here and there."""

    def __init__(self, text: str) -> None:
        self.text = text
        lines = text.split("\n")
        self._places = [number for number, line in enumerate(lines) if line.startswith("  self: grad")]
        self._random = random.Random(0)
        self._open: types.Position | None = None
        self._version = 0
        self._arrived: asyncio.Queue[tuple[int, float]] = asyncio.Queue()
        self.client = LanguageClient("benchmark", "1")

        @self.client.protocol.fm.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: types.PublishDiagnosticsParams) -> None:
            self._arrived.put_nowait((params.version or 0, perf_counter()))

    async def start(self) -> float:
        """Start a server and open the file; the seconds to its diagnostics."""
        await self.client.start_io(sys.executable, "-m", "derivlint", "lsp")
        push = types.PublishDiagnosticsClientCapabilities(version_support=True)
        can = types.ClientCapabilities(text_document=types.TextDocumentClientCapabilities(publish_diagnostics=push))
        await self.client.initialize_async(types.InitializeParams(capabilities=can))
        self.client.initialized(types.InitializedParams())
        begin = perf_counter()
        document = types.TextDocumentItem(URI, "yaml", 0, self.text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(document))
        return await self._told(0) - begin

    async def edit(self) -> float:
        """Make an edit; the seconds to its diagnostics."""
        if self._open is None:
            start = self._open = types.Position(self._random.choice(self._places), len("  self: grad"))
            change = types.TextDocumentContentChangePartial(range=types.Range(start, start), text="x")
        else:
            start, self._open = self._open, None
            end = types.Position(start.line, start.character + 1)
            change = types.TextDocumentContentChangePartial(range=types.Range(start, end), text="")
        self._version += 1
        identifier = types.VersionedTextDocumentIdentifier(self._version, URI)
        begin = perf_counter()
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))
        return await self._told(self._version) - begin

    async def _told(self, wanted: int) -> float:
        while True:
            version, when = await self._arrived.get()
            if version == wanted:
                return when

    def memory(self) -> float:
        """The resident memory of the server, in MB."""
        process = self.client._server
        assert process is not None
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
        return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))

    async def stop(self) -> None:
        """End the server."""
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()  # type: ignore[no-untyped-call]


async def measure(edits: int, pause: float, memory: int) -> None:
    """Print what is measured."""
    typist = Typist(real_file())
    print(f"open: {await typist.start():.2f} s")
    times = []
    for _ in range(edits):
        await asyncio.sleep(pause)
        times.append(await typist.edit())
    times.sort()
    at = {name: times[min(int(len(times) * part), len(times) - 1)] for name, part in (("p50", 0.5), ("p95", 0.95))}
    shown = ", ".join(f"{name} {1000 * value:.0f} ms" for name, value in {**at, "max": times[-1]}.items())
    print(f"edit to diagnostics, {edits} edits: {shown}")
    for number in range(memory + 1):
        if number % max(memory // 10, 1) == 0:
            print(f"memory after {number:,} more edits: {typist.memory():.0f} MB", flush=True)
        if number < memory:
            await typist.edit()
    await typist.stop()


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--edits", type=int, default=200)
    parser.add_argument("--pause", type=float, default=0.2, help="seconds between edits; below 0.15 they are gathered")
    parser.add_argument("--memory", type=int, default=0, help="so many edits more, with the memory on the way")
    given = parser.parse_args()
    asyncio.run(measure(given.edits, given.pause, given.memory))


if __name__ == "__main__":
    main()
