"""Requests about open files: code actions with their edits, and every other request of the table."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

import derivlint.cli.lsp
from derivlint.cli.main import run as run_command
from derivlint.lsp.requests import GENERATED_CODE, REQUESTS
from tests.lsp.editor import PATIENCE, Editor, capabilities, edit, run
from tests.running import runner

TEXT = """\
- name: abs(Tensor self) -> Tensor
  self: gard * self.sgn()

- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: mul_tensor_backward(grad, other, self.scalar_type())

- name: neg(Tensor self) -> Tensor
  self: grad.neg()

- name: sin(Tensor self) -> Tensor
  self: grad * self.cos().conj()
  result: auto_element_wise
"""


def at(line: int, character: int) -> types.Range:
    """An empty range."""
    position = types.Position(line, character)
    return types.Range(position, position)


def applied(text: str, action: types.CodeAction, version: int) -> str:
    """A text with the edits of an action, which are for a version of it."""
    assert action.edit is not None
    assert action.edit.document_changes is not None
    (document,) = action.edit.document_changes
    assert isinstance(document, types.TextDocumentEdit)
    assert document.text_document.version == version
    lines = text.split("\n")
    starts = [sum(len(line) + 1 for line in lines[:number]) for number in range(len(lines) + 1)]
    edits = sorted(document.edits, key=lambda item: (item.range.start.line, item.range.start.character), reverse=True)
    for item in edits:
        assert isinstance(item, types.TextEdit)
        start, end = (starts[place.line] + place.character for place in (item.range.start, item.range.end))
        text = text[:start] + item.new_text + text[end:]
    return text


async def actions(
    editor: Editor, uri: str, where: types.Range, *only: str, known: list[types.Diagnostic] | None = None
) -> dict[str, types.CodeAction]:
    """The code actions at a place, by their titles."""
    kinds: Any = list(only) or None
    context = types.CodeActionContext(known or [], only=kinds)
    params = types.CodeActionParams(types.TextDocumentIdentifier(uri), where, context)
    found = await editor.answer(editor.client.text_document_code_action_async(params))
    return {item.title: item for item in found or () if isinstance(item, types.CodeAction)}


async def test_code_actions_fix_silence_and_complete(tmp_path: Path, editor: Editor) -> None:
    uri = editor.open(tmp_path / "derivatives.yaml", TEXT, 3)
    known = await editor.diagnostics(uri, 3)
    here = await actions(editor, uri, at(1, 9), known=known)
    assert set(here) == {'Replace it by "grad" (may change the meaning)', 'Ignore "undefined-name" here'}
    fix = here['Replace it by "grad" (may change the meaning)']
    assert (fix.kind, fix.is_preferred) == (types.CodeActionKind.QuickFix, None)
    assert [item.code for item in fix.diagnostics or ()] == ["undefined-name"]
    assert applied(TEXT, fix, 3) == TEXT.replace("gard", "grad")
    ignored = applied(TEXT, here['Ignore "undefined-name" here'], 3)
    assert ignored == TEXT.replace("sgn()\n", "sgn()  # derivlint: ignore[undefined-name] reason\n")

    mul = await actions(editor, uri, at(4, 2), "refactor")
    missing = applied(TEXT, mul['Add the missing key "other"'], 3)
    assert missing == TEXT.replace("_type())\n", '_type())\n  other: not_implemented("mul: other")\n')

    neg = await actions(editor, uri, at(7, 2), "refactor.rewrite")
    automatic = applied(TEXT, neg['Add "result: auto_linear"'], 3)
    assert automatic == TEXT.replace("grad.neg()\n", "grad.neg()\n  result: auto_linear\n")

    sin = await actions(editor, uri, at(11, 10))
    expanded = applied(TEXT, sin['Replace "auto_element_wise" by its formula'], 3)
    formula = "(self_t.conj() * self_p.cos().conj()).conj()"
    assert expanded == TEXT.replace("result: auto_element_wise", f"result: {formula}")
    assert await actions(editor, uri, at(11, 10), "source.organizeImports") == {}


async def test_a_wrong_formula_is_corrected_when_it_is_asked_for(tmp_path: Path, editor: Editor) -> None:
    text = TEXT.replace("gard", "grad").replace("self.cos()", "self.sin()")
    uri = editor.open(tmp_path / "derivatives.yaml", text)
    await editor.diagnostics(uri, 0)
    action = (await actions(editor, uri, at(10, 10)))['Correct the formula of "self"']
    assert (action.kind, action.edit) == (types.CodeActionKind.QuickFix, None)
    action = await editor.answer(editor.client.code_action_resolve_async(action))
    assert applied(text, action, 0) == TEXT.replace("gard", "grad")


@pytest.mark.parametrize("resolve", [True, False])
async def test_everything_that_is_safe_is_fixed_at_once(tmp_path: Path, resolve: bool) -> None:
    text = TEXT.replace("gard", "grad").replace("self.sgn()", "self.sgn();").replace("grad.neg()", "grad.neg();")

    async with Editor(capabilities(resolve=resolve)) as editor:
        uri = editor.open(tmp_path / "derivatives.yaml", text)
        await editor.diagnostics(uri, 0)
        found = await actions(editor, uri, at(0, 0), "source.fixAll")
        (action,) = found.values()
        assert action.kind == "source.fixAll.derivlint"
        if resolve:
            assert action.edit is None
            action = await editor.answer(editor.client.code_action_resolve_async(action))
        assert applied(text, action, 0) == text.replace(";", "")
        assert (await actions(editor, uri, at(0, 0)) == {}) is (not resolve)


def every_request(uri: str, position: types.Position) -> dict[str, Any]:
    """The parameters of every request of the table."""
    file = types.TextDocumentIdentifier(uri)
    whole = types.Range(types.Position(0, 0), types.Position(100, 0))
    return {
        types.TEXT_DOCUMENT_HOVER: types.HoverParams(file, position),
        types.TEXT_DOCUMENT_COMPLETION: types.CompletionParams(file, position),
        types.TEXT_DOCUMENT_SIGNATURE_HELP: types.SignatureHelpParams(file, position),
        types.TEXT_DOCUMENT_DEFINITION: types.DefinitionParams(file, position),
        types.TEXT_DOCUMENT_REFERENCES: types.ReferenceParams(types.ReferenceContext(True), file, position),
        types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: types.DocumentHighlightParams(file, position),
        types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: types.DocumentSymbolParams(file),
        types.TEXT_DOCUMENT_FOLDING_RANGE: types.FoldingRangeParams(file),
        types.TEXT_DOCUMENT_SELECTION_RANGE: types.SelectionRangeParams(file, [position]),
        types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: types.SemanticTokensParams(file),
        types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: types.SemanticTokensRangeParams(file, whole),
        types.TEXT_DOCUMENT_INLAY_HINT: types.InlayHintParams(file, whole),
        types.TEXT_DOCUMENT_RANGE_FORMATTING: types.DocumentRangeFormattingParams(
            file, whole, types.FormattingOptions(2, True)
        ),
        types.TEXT_DOCUMENT_CODE_LENS: types.CodeLensParams(file),
        types.WORKSPACE_SYMBOL: types.WorkspaceSymbolParams("mul"),
    }


async def test_every_request_is_answered_for_sound_and_for_broken_texts(tmp_path: Path) -> None:
    async with Editor(options={"inlayHints": True, "showGeneratedCode": True}) as editor:
        uri = editor.open(tmp_path / "derivatives.yaml", TEXT)
        await editor.diagnostics(uri, 0)
        requests = every_request(uri, types.Position(4, 36))
        unasked = {types.TEXT_DOCUMENT_PREPARE_RENAME, types.TEXT_DOCUMENT_RENAME}
        assert {request.method for request in REQUESTS} - requests.keys() == unasked
        answers = {}
        for method, params in requests.items():
            answers[method] = await editor.answer(editor.client.protocol.send_request_async(method, params))
        empty = {method for method, answer in answers.items() if not answer}
        assert empty <= {types.TEXT_DOCUMENT_RANGE_FORMATTING}
        hover = answers[types.TEXT_DOCUMENT_HOVER]
        assert "Tensor other" in hover.contents.value
        assert hover.range == types.Range(types.Position(4, 34), types.Position(4, 39))
        (place,) = answers[types.TEXT_DOCUMENT_DEFINITION]
        assert (place.uri, place.range.start.line) == (uri, 3)
        assert answers[types.TEXT_DOCUMENT_SIGNATURE_HELP].active_parameter == 1
        names = [symbol.name for symbol in answers[types.TEXT_DOCUMENT_DOCUMENT_SYMBOL]]
        assert names == ["abs", "mul.Tensor", "neg", "sin"]
        assert len(answers[types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL].data) % 5 == 0
        (lens, *_) = answers[types.TEXT_DOCUMENT_CODE_LENS]
        assert list(lens.command.arguments) == [uri, "abs"]

        editor.change(uri, 1, edit(4, 8, 8, "[\n  }"))
        for method, params in requests.items():
            await editor.answer(editor.client.protocol.send_request_async(method, params))
        editor.replace(uri, 2, "")
        for method, params in requests.items():
            await editor.answer(editor.client.protocol.send_request_async(method, params))
        assert editor.logged == []
        assert editor.shown == []


async def test_completion_generated_code_and_refused_names(tmp_path: Path, editor: Editor) -> None:
    uri = editor.open(tmp_path / "derivatives.yaml", TEXT)
    code = types.ExecuteCommandParams(GENERATED_CODE, arguments=[uri, "neg"])
    assert "NegBackward0" in str(await editor.answer(editor.client.workspace_execute_command_async(code)))
    name = types.RenameParams(types.TextDocumentIdentifier(uri), types.Position(4, 35), "mine")
    with pytest.raises(Exception, match="native_functions"):
        await editor.answer(editor.client.text_document_rename_async(name))
    assert editor.logged == []
    editor.change(uri, 1, edit(7, 18, 18, " * se"))
    params = types.CompletionParams(types.TextDocumentIdentifier(uri), types.Position(7, 23))
    found = await editor.answer(editor.client.text_document_completion_async(params))
    assert isinstance(found, types.CompletionList)
    item = found.items[0]
    assert item.label == "self"
    where = types.Range(types.Position(7, 21), types.Position(7, 23))
    assert item.text_edit == types.TextEdit(where, "self")


def test_without_its_packages_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(derivlint.cli.lsp, "PACKAGES", ("no_such_package_of_anybody",))
    assert run_command(["lsp"]) == 2
    said = 'derivlint: the language server needs more packages; install them with: pip install "derivlint[lsp]"\n'
    assert capsys.readouterr() == ("", said)


def test_two_ways_to_talk_are_refused() -> None:
    outcome = runner().invoke(derivlint.cli.lsp.lsp, ["--stdio", "--tcp", "1234"])
    assert str(outcome.exception) == 'use "--stdio" or "--tcp", not both'


def test_the_server_talks_over_a_port_too(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    async def test() -> None:
        import asyncio

        client = LanguageClient("editor", "1")
        for _ in range(int(PATIENCE * 10)):
            try:
                await client.start_tcp("127.0.0.1", port)
                break
            except OSError:
                await asyncio.sleep(0.1)
        result = await client.initialize_async(types.InitializeParams(capabilities=capabilities()))
        assert result.server_info is not None
        assert result.server_info.name == "derivlint"
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()  # type: ignore[no-untyped-call]  # pygls gives it no types

    server = subprocess.Popen([sys.executable, "-m", "derivlint", "lsp", "--tcp", str(port)])
    try:
        run(test())
        server.wait(PATIENCE)
    finally:
        server.kill()
        server.wait()
