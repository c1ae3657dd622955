"""The formats of ``derivlint check``: their names, descriptions and renderers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from derivlint.formats.report import Report

if TYPE_CHECKING:
    from derivlint.formats.text import Line


class Format(Struct, frozen=True):
    """A format, whose module is imported on demand.

    Attributes:
        name: its name for ``--output-format``.
        description: its consumers.
        renderer: the function that renders it, as ``module:function``.
        styled: whether it consists of styled lines, for people, instead of one text.
    """

    name: str
    description: str
    renderer: str
    styled: bool = False

    def render(self, report: Report) -> str:
        """Render the report as text without styles."""
        if self.styled:
            from derivlint.formats.text import plain

            return "".join(f"{plain(line)}\n" for line in self.lines(report))
        return cast(Callable[[Report], str], self._function())(report)

    def lines(self, report: Report, width: int | None = None, with_summary: bool = True) -> Iterator[Line]:
        """Render the report as styled lines, for a format that has them.

        Args:
            report: the report.
            width: the columns of the terminal.
            with_summary: whether the last line has the numbers of findings, entries and files.
        """
        function = cast("Callable[[Report, int | None, bool], Iterator[Line]]", self._function())
        return function(report, width, with_summary)

    def _function(self) -> object:
        module, _, name = self.renderer.partition(":")
        return cast(object, getattr(import_module(f"derivlint.formats.{module}"), name))


FORMATS: dict[str, Format] = {
    item.name: item
    for item in (
        Format("text", "people: the source line with the range underlined", "text:render_text", styled=True),
        Format("concise", "people and editors: a line per finding", "text:render_concise", styled=True),
        Format("json", "scripts: one document in a stable form", "machine.json_format:render_json"),
        Format("json-lines", "scripts: a document per finding, one per line", "machine.json_format:render_json_lines"),
        Format("github", "annotations of GitHub Actions", "machine.ci:render_github"),
        Format("sarif", "SARIF 2.1.0, for code scanning", "machine.sarif:render_sarif"),
        Format("gitlab", "code quality reports of GitLab", "machine.ci:render_gitlab"),
        Format("junit", "test reports: JUnit XML", "machine.ci:render_junit"),
        Format("rdjson", "reviewdog: one document", "machine.ci:render_rdjson"),
        Format("rdjsonl", "reviewdog: a document per finding, one per line", "machine.ci:render_rdjsonl"),
        Format("lintrunner", "lintrunner, as PyTorch uses it; always exits with 0", "machine.ci:render_lintrunner"),
    )
}
