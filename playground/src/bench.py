"""The Python of the playground: checks of a text in memory, and the output of commands for it."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

from derivlint.cli.main import cli
from derivlint.formats.machine.json_format import render_json
from derivlint.formats.report import Report
from derivlint.lsp.analysis import check as check_document
from derivlint.lsp.workspace import Projects
from derivlint.model.memos import Memos
from derivlint.source import SourceFile

FOLDER = Path.home()
PATH = FOLDER / "derivatives.yaml"
NATIVES = FOLDER / "native_functions.yaml"


class Bench:
    """A file and the operators that it declares beside PyTorch's, with the results of earlier texts."""

    def __init__(self) -> None:
        self._natives: str | None = None
        self._use("")

    def _use(self, natives: str) -> None:
        """Declare operators; everything is checked again with them."""
        if natives == self._natives:
            return
        self._natives = natives
        NATIVES.write_bytes(natives.encode("utf-8", "replace"))
        config = [f'native-functions=["{NATIVES}"]'] if natives else []
        self._projects = Projects(config, trusted=True)
        self._memos = Memos()

    def check(self, text: str, natives: str) -> str:
        """Return the findings in a text, as ``derivlint check --output-format json`` prints them."""
        self._use(natives)
        PATH.write_bytes(text.encode("utf-8", "replace"))
        try:
            source = SourceFile.read(PATH)
            if self._projects.redetect_release(PATH, source):
                self._memos = Memos()
            project = self._projects.of(PATH, source)
            document = check_document(source, project, memos=self._memos)
        except Exception as error:  # shown instead of findings
            return json.dumps({"error": str(error)})
        files = {str(file.path): file for file in document.analysis.native_sources}
        return render_json(Report(document.shown, {str(source.path): source}, 0, 0, related_sources=files))

    def command(self, *arguments: str) -> str:
        """Return the output of a command for the last text that was checked."""
        operators = ["--native-functions", str(NATIVES)] if self._natives else []
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            try:
                command = [*arguments, str(PATH), "--isolated", *operators]
                cli.main(command, prog_name="derivlint", standalone_mode=False)
            except Exception as error:
                output.write(str(error))
        return output.getvalue()
