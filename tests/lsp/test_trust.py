"""What a folder that is opened can do to the server: little, until the editor says that it is trusted."""

from __future__ import annotations

import os
import shutil
import socket
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from lsprotocol import types

from tests.lsp.editor import Editor
from tests.sampling import sample

pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipes, devices and links are those of POSIX")

TEXT = "- name: sin(Tensor self) -> Tensor\n  self: grad * sefl.cos().conj()\n"
#: Seconds until the first diagnostics, with the start of the server and the bundled operators read.
FIRST = 3.0
SECRET = "SECRET of another folder"

Trap = Callable[[Path], str]


def names(key: str, place: str) -> Trap:
    """A configuration whose key names a place; tags and bodies are read where there are operators."""
    value = f'"{place}"' if key in ("tags", "helper-bodies", "baseline") else f'["{place}"]'
    return lambda folder: f"{key} = {value.replace('FOREIGN', str(folder.parent / 'foreign'))}\n"


def text(content: str) -> Trap:
    return lambda folder: content


def linked(target: str) -> Trap:
    """A configuration that is a link."""

    def trap(folder: Path) -> str:
        place = folder / "derivlint.toml"
        place.symlink_to(target.replace("FOREIGN", str(folder.parent / "foreign")))
        return ""

    return trap


def special(make: Callable[[Path], object]) -> Trap:
    """A configuration that is not a file."""

    def trap(folder: Path) -> str:
        make(folder / "derivlint.toml")
        return ""

    return trap


def bound(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as place:
        place.bind(str(path))


def checkout_of_pipes(name: str) -> Trap:
    """A checkout where a pipe takes the place of a file that is read."""

    def trap(folder: Path) -> str:
        native = folder / "aten/src/ATen/native"
        native.mkdir(parents=True)
        (folder / "torch/csrc/autograd").mkdir(parents=True)
        (native / "native_functions.yaml").write_text("- func: mine(Tensor self) -> Tensor\n")
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)
        return ""

    return trap


KEYS = ("headers", "native-functions", "tags", "helper-bodies", "baseline", "paths")
PLACES = (
    "/dev/stdin", "/proc/self/fd/0", "/dev/zero", "/dev/tty", "pipe", "socket", "stdin-by-link",
    "FOREIGN/secret.txt", "/**/*.yaml",
)  # fmt: skip
TRAPS: dict[str, Trap] = {
    **{f"{key} {place}": names(key, place) for key in KEYS for place in PLACES},
    "a link to standard input": linked("/dev/stdin"),
    "a link to a device": linked("/dev/zero"),
    "a link out of the repository": linked("FOREIGN/derivlint.toml"),
    "a link to itself": linked("derivlint.toml"),
    "a pipe": special(os.mkfifo),
    "a socket": special(bound),
    "a folder": special(lambda path: path.mkdir()),
    "large": text("# " + "x" * 300_000 + "\n"),
    "nested": text("ignore = " + "[" * 20_000 + "]" * 20_000 + "\n"),
    "many dots": text(".".join("a" * 5_000) + " = 1\n"),
    "not UTF-8": special(lambda path: path.write_bytes(b"ignore = ['\xff']\n")),
    "a zero in a path": text('headers = ["a\\u0000b"]\n'),
    "patterns": text('native-functions = ["' + "**/" * 60 + '*.yaml"]\n'),
    "a pattern out": text('native-functions = ["../../**/*.yaml"]\n'),
    "many mistakes": text("\n".join(f"unknown-{number} = 1" for number in range(5_000)) + "\n"),
    "the installed PyTorch": text('torch = "installed"\n'),
    **{f"a pipe for {name}": checkout_of_pipes(name) for name in (
        "aten/src/ATen/native/native_functions.yaml", "aten/src/ATen/native/tags.yaml",
        "torch/csrc/autograd/FunctionsManual.h", "torch/csrc/autograd/FunctionsManual.cpp", "version.txt",
    )},
}  # fmt: skip
#: Traps that a server meets first.
SAMPLE = (
    "headers /dev/stdin", "native-functions pipe", "baseline stdin-by-link", "paths /dev/zero",
    "a link to standard input", "a pipe", "patterns",
)  # fmt: skip


def folder_with(trap: str, tmp_path: Path) -> Path:
    """A repository with a derivatives file and a trap."""
    foreign = tmp_path / "foreign"
    foreign.mkdir(parents=True)
    (foreign / "secret.txt").write_text(SECRET)
    (foreign / "derivlint.toml").write_text('ignore = ["undefined-name"]\n')
    folder = tmp_path / "repository"
    (folder / ".git").mkdir(parents=True)
    (folder / "derivatives.yaml").write_text(TEXT)
    os.mkfifo(folder / "pipe")
    bound(folder / "socket")
    (folder / "stdin-by-link").symlink_to("/dev/stdin")
    configuration = TRAPS[trap](folder)
    if configuration:
        (folder / "derivlint.toml").write_text(configuration)
    return folder


async def first_diagnostics(editor: Editor, folder: Path) -> tuple[list[types.Diagnostic], float]:
    """The diagnostics of a file that is opened, and the seconds until they came; the server lives on."""
    started = time.monotonic()
    uri = editor.open(folder / "derivatives.yaml", TEXT)
    found = await editor.diagnostics(uri, 0)
    took = time.monotonic() - started
    editor.replace(uri, 1, TEXT.replace("sefl", "slef"))
    await editor.diagnostics(uri, 1)
    editor.close(uri)
    return found, took


def judge(found: list[types.Diagnostic], took: float, editor: Editor, *, trusted: bool) -> None:
    # a trusted workspace may name whatever takes long, such as the installed PyTorch
    assert trusted or took < FIRST
    assert not [entry for entry in editor.logged if "internal error" in entry]
    assert SECRET not in str(found)
    # nothing hides the finding, unless the file cannot be checked, which is said
    codes = {item.code for item in found}
    assert trusted or codes & {"undefined-name", "unknown-schema", "cannot-check"}


@pytest.mark.parametrize(
    ("trap", "trusted"),
    sample(product(SAMPLE, (False, True)), 5, always=[("headers /dev/stdin", False), ("a pipe", False)]),
)
async def test_no_configuration_stops_a_fresh_server(trap: str, trusted: bool, tmp_path: Path) -> None:
    folder = folder_with(trap, tmp_path)

    async with Editor(options={"trusted": trusted}, cwd=folder) as editor:
        judge(*await first_diagnostics(editor, folder), editor, trusted=trusted)


@pytest.mark.parametrize("trusted", [False, True])
async def test_no_configuration_of_many_stops_the_server(trusted: bool, tmp_path: Path) -> None:
    # a trusted workspace may have the installed PyTorch read
    traps = sample(TRAPS, 9 if trusted else 24, always=("the installed PyTorch", "large"))
    folders = {trap: folder_with(trap, tmp_path / str(number)) for number, trap in enumerate(traps)}

    async with Editor(options={"trusted": trusted}, cwd=tmp_path) as editor:
        for folder in folders.values():
            judge(*await first_diagnostics(editor, folder), editor, trusted=trusted)


def test_there_are_many_traps() -> None:
    assert len(TRAPS) >= 60


HIDING = 'ignore = ["undefined-name"]\n'


def codes(found: list[types.Diagnostic]) -> set[object]:
    return {item.code for item in found}


async def test_trust_comes_from_the_editor_and_may_come_later(tmp_path: Path) -> None:
    (tmp_path / "derivlint.toml").write_text(HIDING)

    async with Editor(options={}) as editor:
        uri = editor.open(tmp_path / "derivatives.yaml", TEXT)
        assert "undefined-name" in codes(await editor.diagnostics(uri, 0))
        assert [entry for entry in editor.logged if '"trusted": true' in entry] == [
            "settings of an untrusted workspace are ignored: "
            f'ignore ({tmp_path / "derivlint.toml"}:1:1); to use them, set "trusted": true'
        ]
        for trusted in (True, False):
            count = len(editor.published)
            settings = {"derivlint": {"trusted": trusted}}
            editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings))
            await editor.until(lambda count=count: len(editor.published) > count)  # type: ignore[misc]  # bound now
            assert ("undefined-name" in codes([*editor.published[-1].diagnostics])) is not trusted


@pytest.mark.parametrize("trusted", sample(["yes", 1, None, {"trusted": 1}], 2))
async def test_only_true_is_trust(tmp_path: Path, trusted: object) -> None:
    (tmp_path / "derivlint.toml").write_text(HIDING)

    async with Editor(options={"trusted": trusted}) as editor:
        uri = editor.open(tmp_path / "derivatives.yaml", TEXT)
        assert "undefined-name" in codes(await editor.diagnostics(uri, 0))


async def test_comments_count_without_trust(tmp_path: Path) -> None:
    async with Editor(options={}) as editor:
        silenced = TEXT.replace(".conj()\n", ".conj()  # derivlint: ignore[undefined-name] as asked\n")
        uri = editor.open(tmp_path / "derivatives.yaml", silenced)
        assert "undefined-name" not in codes(await editor.diagnostics(uri, 0))


async def test_events_without_a_change_do_nothing(tmp_path: Path, editor: Editor) -> None:
    """Also where a file was written again as it was; a change after them is noticed."""
    native = tmp_path / "native_functions.yaml"
    native.write_text("- func: mine(Tensor self) -> Tensor\n  variants: function\n  dispatch:\n    CPU: mine\n")
    (tmp_path / "derivlint.toml").write_text('native-functions = ["native_functions.yaml"]\n')
    mine = "- name: mine(Tensor self, int a) -> Tensor\n  self: grad\n"

    uri = editor.open(tmp_path / "derivatives.yaml", mine)
    assert codes(await editor.diagnostics(uri, 0)) == {"unknown-schema"}
    count = len(editor.of(uri))

    def happened(kind: types.FileChangeType) -> None:
        event = types.FileEvent(native.as_uri(), kind)
        editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))

    editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams({}))
    happened(types.FileChangeType.Changed)
    native.write_text(native.read_text())
    happened(types.FileChangeType.Changed)
    shutil.copy(native, tmp_path / "copy")
    os.replace(tmp_path / "copy", native)
    happened(types.FileChangeType.Created)
    position = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(1, 9))
    await editor.answer(editor.client.text_document_hover_async(position))
    assert len(editor.of(uri)) == count
    native.write_text(native.read_text().replace("Tensor self", "Tensor self, int a"))
    happened(types.FileChangeType.Changed)
    await editor.until(lambda: len(editor.of(uri)) > count)
    assert codes([*editor.of(uri)[-1].diagnostics]) == set()


async def test_a_file_that_comes_beside_a_lone_file_is_noticed(tmp_path: Path, editor: Editor) -> None:
    mine = "- name: mine(Tensor self) -> Tensor\n  self: grad\n"

    uri = editor.open(tmp_path / "derivatives.yaml", mine)
    assert "unknown-schema" in codes(await editor.diagnostics(uri, 0))
    count = len(editor.of(uri))
    own = tmp_path / "own.yaml"
    own.write_text("- func: mine(Tensor self) -> Tensor\n  variants: function\n  dispatch:\n    CPU: mine\n")
    event = types.FileEvent(own.as_uri(), types.FileChangeType.Created)
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
    await editor.until(lambda: len(editor.of(uri)) > count)
    assert "unknown-schema" not in codes([*editor.of(uri)[-1].diagnostics])


async def test_names_that_no_file_has_are_opened_without_an_error(editor: Editor) -> None:
    for uri in (
        "file:///%00", "file:///a%00b/derivatives.yaml", "untitled:%00", "file:///" + "x" * 5_000, "file:///%ff",
    ):  # fmt: skip
        item = types.TextDocumentItem(uri, "yaml", 0, TEXT)
        editor.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        position = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(1, 9))
        await editor.answer(editor.client.text_document_hover_async(position))
        assert editor.logged == [], uri


async def test_a_large_text_is_refused_by_name_and_others_do_not_wait(tmp_path: Path, editor: Editor) -> None:
    uri = editor.open(tmp_path / "derivatives.yaml", TEXT)
    await editor.diagnostics(uri, 0)
    large = editor.open(tmp_path / "large" / "derivatives.yaml", TEXT * 250_000)
    started = time.monotonic()
    position = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(0, 9))
    assert await editor.answer(editor.client.text_document_hover_async(position)) is not None
    assert time.monotonic() - started < FIRST
    [found] = await editor.diagnostics(large, 0)
    assert (found.code, "it has more than 3 MiB" in found.message) == ("cannot-check", True)
