"""The server, by a real client over standard input and output."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterable
from pathlib import Path

import pytest
from lsprotocol import types

from tests.lsp.editor import Editor, capabilities, edit, run, summary

#: Two entries, the second with an undefined name.
TEXT = """\
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()

- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: grad * othr
  other: grad * self
"""
CLEAN = TEXT.replace("othr", "other.conj()").replace("grad * self\n", "grad * self.conj()\n")
UNDEFINED = ("undefined-name", 4, 15, 4, 19, '"othr" is not declared in a backward formula of "mul.Tensor"')


def undefined(found: Iterable[types.Diagnostic]) -> list[tuple[object, ...]]:
    """The diagnostics about undefined names."""
    return [summary(item) for item in found if item.code == "undefined-name"]


async def test_an_edit_is_judged_at_once_with_its_version_and_closing_clears(tmp_path: Path, editor: Editor) -> None:
    uri = editor.open(tmp_path / "derivatives.yaml", TEXT)
    first = await editor.diagnostics(uri, 0)
    assert undefined(first) == [UNDEFINED]
    item = next(item for item in first if item.code == "undefined-name")
    assert (item.source, item.severity) == ("derivlint", types.DiagnosticSeverity.Error)
    assert item.message.split("\n") == [UNDEFINED[-1], 'did you mean "other"?']
    assert item.code_description is not None
    assert item.code_description.href.endswith("/docs/rules/undefined-name.md")

    editor.change(uri, 1, edit(4, 15, 19, "other"))
    assert undefined(await editor.diagnostics(uri, 1)) == []
    editor.change(uri, 2, edit(4, 15, 20, "othr"))
    assert undefined(await editor.diagnostics(uri, 2)) == [UNDEFINED]

    count = len(editor.of(uri))
    editor.close(uri)
    await editor.until(lambda: len(editor.of(uri)) > count)
    assert list(editor.of(uri)[-1].diagnostics) == []
    assert editor.shown == []
    assert editor.logged == []


async def test_while_the_yaml_is_broken_one_diagnostic_says_so_and_the_others_stay(
    tmp_path: Path, editor: Editor
) -> None:
    uri = editor.open(tmp_path / "derivatives.yaml", TEXT)
    before = [summary(item) for item in await editor.diagnostics(uri, 0)]
    editor.change(uri, 1, edit(1, 8, 8, "["))
    found = [summary(item) for item in await editor.diagnostics(uri, 1)]
    assert [item[0] for item in found if item not in before] == ["yaml-syntax-error"]
    assert UNDEFINED in found
    hover = await editor.answer(
        editor.client.text_document_hover_async(
            types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(5, 10))
        )
    )
    assert hover is not None
    assert hover.range is not None
    assert hover.range.start == types.Position(5, 9)
    editor.change(uri, 2, edit(1, 8, 9, ""))
    assert [summary(item) for item in await editor.diagnostics(uri, 2)] == before
    editor.close(uri)
    versions = [item.version for item in editor.of(uri) if item.version is not None]
    assert versions == sorted(versions)


@pytest.mark.parametrize(
    ("offered", "chosen", "wide"),
    [(None, "utf-16", 2), (["utf-8"], "utf-8", 4), (["utf-32"], "utf-32", 1), (["utf-8", "utf-16"], "utf-16", 2)],
)
async def test_positions_are_in_the_negotiated_unit(
    tmp_path: Path, offered: list[str] | None, chosen: str, wide: int
) -> None:
    """After a wide character, in a file with CRLF and U+2028, which ends no line of the protocol."""
    text = "# a\u2028b\r\n- name: abs(Tensor self) -> Tensor\r\n  self: 'grad * f(\"😀\") * othr'\r\n"

    async with Editor(capabilities(encodings=offered)) as editor:
        assert editor.result.capabilities.position_encoding == chosen
        uri = editor.open(tmp_path / "derivatives.yaml", text)
        at = 9 + len('grad * f("') + wide + len('") * ')
        message = '"othr" is not declared in a backward formula of "abs"'
        found = undefined(await editor.diagnostics(uri, 0))
        assert found == [("undefined-name", 2, at, 2, at + 4, message)]
        editor.change(uri, 1, edit(2, at, at, "😀"), edit(2, at, at + wide, ""), edit(2, at, at + 1, "x"))
        found = undefined(await editor.diagnostics(uri, 1))
        assert found == [("undefined-name", 2, at, 2, at + 4, message.replace("othr", "xthr"))]


async def test_a_client_that_pulls_is_sent_nothing_and_asks_again_when_operators_change(tmp_path: Path) -> None:
    native = tmp_path / "native_functions.yaml"
    native.write_text("- func: mine(Tensor self) -> Tensor\n  variants: function\n  dispatch:\n    CPU: mine\n")
    (tmp_path / "derivlint.toml").write_text('native-functions = ["native_functions.yaml"]\n')
    text = "- name: mine(Tensor self, int a) -> Tensor\n  self: grad\n"

    async with Editor(capabilities(pull=True, watch=True)) as editor:
        options = editor.result.capabilities.diagnostic_provider
        assert options is not None
        assert options.inter_file_dependencies
        assert not options.workspace_diagnostics
        await editor.until(lambda: "**/native_functions.yaml" in editor.registered)
        uri = editor.open(tmp_path / "derivatives.yaml", text)

        async def pull(known: str | None = None) -> types.DocumentDiagnosticReport:
            params = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri), previous_result_id=known)
            return await editor.answer(editor.client.text_document_diagnostic_async(params))

        first = await pull()
        assert isinstance(first, types.RelatedFullDocumentDiagnosticReport)
        assert [item.code for item in first.items] == ["unknown-schema"]
        again = await pull(first.result_id)
        assert isinstance(again, types.RelatedUnchangedDocumentDiagnosticReport)

        native.write_text(native.read_text().replace("Tensor self", "Tensor self, int a"))
        changed = types.FileEvent(native.as_uri(), types.FileChangeType.Changed)
        editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([changed]))
        await editor.until(lambda: editor.refreshed == 1)
        after = await pull(first.result_id)
        assert isinstance(after, types.RelatedFullDocumentDiagnosticReport)
        assert [item.code for item in after.items] == []
        assert editor.published == []


async def test_open_files_are_checked_again_when_the_configuration_changes(tmp_path: Path, editor: Editor) -> None:
    uri = editor.open(tmp_path / "derivatives.yaml", TEXT)
    assert undefined(await editor.diagnostics(uri, 0)) == [UNDEFINED]
    (tmp_path / "derivlint.toml").write_text('ignore = ["undefined-name"]\n')
    count = len(editor.of(uri))
    # a client that watches nothing reports what it saves
    saved = types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri))
    editor.client.text_document_did_save(saved)
    await editor.until(lambda: len(editor.of(uri)) > count)
    assert undefined(editor.of(uri)[-1].diagnostics) == []


async def test_the_release_of_a_lone_file_is_detected_when_it_is_opened_and_saved(
    tmp_path: Path, editor: Editor
) -> None:
    of_2_9 = "- name: triu(Tensor self, int diagonal=0) -> Tensor\n  self: grad.triu(diagonal)\n"
    of_2_13 = of_2_9.replace("int diagonal", "SymInt diagonal").replace("triu(diagonal)", "triu_symint(diagonal)")

    uri = editor.open(tmp_path / "derivatives.yaml", of_2_9)
    assert await editor.diagnostics(uri, 0) == []
    editor.replace(uri, 1, of_2_13)
    assert [item.code for item in await editor.diagnostics(uri, 1)] == ["unknown-schema"]
    count = len(editor.of(uri))
    editor.client.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri)))
    await editor.until(lambda: len(editor.of(uri)) > count)
    assert list(editor.of(uri)[-1].diagnostics) == []


async def test_what_keeps_a_file_from_being_checked_is_one_diagnostic(tmp_path: Path, editor: Editor) -> None:
    (tmp_path / "derivlint.toml").write_text('native-functions = ["nowhere.yaml"]\n')

    uri = editor.open(tmp_path / "derivatives.yaml", TEXT)
    found = await editor.diagnostics(uri, 0)
    assert [item.code for item in found] == ["cannot-check"]
    assert "nowhere.yaml" in found[0].message
    count = len(editor.of(uri))
    (tmp_path / "derivlint.toml").write_text("unknown-key = 1\n")
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([]))
    await editor.until(lambda: len(editor.of(uri)) > count)
    assert [item.code for item in editor.of(uri)[-1].diagnostics] == ["cannot-check"]
    assert "unknown-key" in editor.of(uri)[-1].diagnostics[0].message
    assert editor.shown == []


async def test_files_of_two_projects_have_their_own_configurations(tmp_path: Path, editor: Editor) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "two" / "derivlint.toml").write_text('[severity]\nundefined-name = "info"\n')

    severities = []
    for name in ("one", "two"):
        uri = editor.open(tmp_path / name / "derivatives.yaml", TEXT)
        found = await editor.diagnostics(uri, 0)
        severities += [item.severity for item in found if item.code == "undefined-name"]
    assert severities == [types.DiagnosticSeverity.Error, types.DiagnosticSeverity.Information]


async def test_fifty_edits_in_a_second_end_with_the_diagnostics_of_the_last(tmp_path: Path, editor: Editor) -> None:
    uri = editor.open(tmp_path / "derivatives.yaml", TEXT)
    await editor.diagnostics(uri, 0)
    for version in range(1, 51):
        editor.change(uri, version, edit(4, 15, 15, "x") if version % 2 else edit(4, 15, 16, ""))
        await asyncio.sleep(0.02)
    assert undefined(await editor.diagnostics(uri, 50)) == [UNDEFINED]
    versions = [item.version or 0 for item in editor.of(uri)]
    assert versions == sorted(versions)


def test_a_server_that_dies_leaves_nothing_that_keeps_the_next_from_working(tmp_path: Path) -> None:
    async def killed() -> None:
        async with Editor() as editor:
            uri = editor.open(tmp_path / "derivatives.yaml", TEXT)
            await editor.diagnostics(uri, 0)
            os.kill(editor.process.pid, signal.SIGKILL)
            await editor.process.wait()

    async def again() -> None:
        async with Editor() as editor:
            uri = editor.open(tmp_path / "derivatives.yaml", TEXT, version=0)
            assert undefined(await editor.diagnostics(uri, 0)) == [UNDEFINED]

    run(killed())
    run(again())


#: Starts a server in which hovering fails, with something printed on the way.
FAILING = """
import sys
from derivlint.cli.main import run
import derivlint.lsp.features.hover as feature
def hover(analysis, offset):
    print("stray")
    raise ValueError("broken on purpose")
feature.hover = hover
sys.exit(run(["lsp", "--stdio"]))
"""


async def test_a_failing_handler_is_one_log_entry_and_no_message_box(tmp_path: Path) -> None:
    async with Editor(command=("-c", FAILING)) as editor:
        uri = editor.open(tmp_path / "derivatives.yaml", TEXT)
        params = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(4, 10))
        assert await editor.answer(editor.client.text_document_hover_async(params)) is None
        await editor.until(lambda: bool(editor.logged))
        assert editor.logged == ["textDocument/hover: ValueError: broken on purpose"]
        assert editor.shown == []
        assert undefined(await editor.diagnostics(uri, 0)) == [UNDEFINED]


async def test_other_yaml_files_are_left_alone(tmp_path: Path) -> None:
    async with Editor() as editor:
        other = editor.open(tmp_path / "values.yaml", "a: [")
        editor.replace(other, 1, "b: ]")
        uri = editor.open(tmp_path / "derivatives.yaml", TEXT)
        await editor.diagnostics(uri, 0)
        params = types.HoverParams(types.TextDocumentIdentifier(other), types.Position(0, 0))
        assert await editor.answer(editor.client.text_document_hover_async(params)) is None
        editor.close(other)
        editor.close("file:///never/opened.yaml")
        editor.change("file:///never/opened.yaml", 1)
        assert {item.uri for item in editor.published} == {uri}
        assert editor.logged == []
