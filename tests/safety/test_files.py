"""Files: nothing that is not ours is written over or removed, and what is written is whole and stays so."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from derivlint.cli.main import cli
from derivlint.emit.emission import emission
from derivlint.emit.manifest import MANIFEST, digest_of, is_emitted_name, read_manifest
from derivlint.model import build_model
from derivlint.schema import NativeFunctions
from derivlint.source import ChangedError, SourceFile, remove_leftovers, replace_file, write_file, writing
from tests.running import runner

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links, pipes and owners are those of POSIX")

FORMULAS = (
    "- name: sin(Tensor self) -> Tensor\n  self: grad * self.cos().conj()\n  result: auto_element_wise\n"
    "- name: cos(Tensor self) -> Tensor\n  self: grad * -self.sin().conj()\n"
)
FIXABLE = "- name: sin(Tensor self) -> Tensor\n  self: grads[0] * self.cos().conj()\n  result: auto_element_wise\n"
FIXED = FIXABLE.replace("grads[0]", "grad")
EMIT = ("emit", "cpp", "--ops", "sin,cos", "--helpers", "FunctionsManual.cpp", "--out", "ext")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a derivatives file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DERIVLINT_CACHE_DIR", os.devnull)
    (tmp_path / "derivatives.yaml").write_text(FORMULAS)
    (tmp_path / "FunctionsManual.cpp").write_text("// helpers\n")
    return tmp_path


def run(*arguments: str) -> tuple[int, str]:
    """The status of a command, and what it says on standard error."""
    done = runner().invoke(cli, arguments)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stderr


def snapshot(folder: Path) -> dict[str, object]:
    """What is in a folder: links with their targets, files with their contents and times."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(status.st_mode) else None
        target = os.readlink(path) if path.is_symlink() else None
        found[str(path.relative_to(folder))] = (stat.S_IFMT(status.st_mode), status.st_mtime_ns, content, target)
    return found


def claim(folder: Path, **digests: str) -> None:
    """Have the manifest of a folder name more files, as derivlint would have written it."""
    path = folder / MANIFEST
    content = json.loads(path.read_text())
    del content["digest"]
    content["digests"] |= digests
    content["files"] = sorted(content["digests"])
    content["digest"] = digest_of(json.dumps(content, sort_keys=True).encode())
    path.write_text(json.dumps(content))


# ---- emitted folders


IN_TREE = ("emit", "cpp", "--mode", "in-tree", "--ops", "sin", "--out", "tree")
MODULE = ("emit", "python", "--out", "ops.py")
NOTHING = 'derivlint: nothing is written to "{}": choose another folder, or remove what is in the way\n'
OF_OTHERS = 'derivlint: "ops.py" was not written by derivlint: choose another file, or remove it\n'
#: What is in the way of a command: a text, None for a pipe, or the target of a link; and what is said.
IN_THE_WAY: dict[str, tuple[tuple[str, ...], dict[str, str | Path | None], str]] = {
    # all of them are named, before the first byte is written
    "files of others": (
        EMIT,
        {"ext/CMakeLists.txt": "mine\n", "ext/nodes.h": "mine\n"},
        'derivlint: "ext/CMakeLists.txt" was not written by derivlint\n'
        'derivlint: "ext/nodes.h" was not written by derivlint\n'
        + NOTHING.format("ext"),
    ),
    # a folder inside of the emitted one that leads somewhere else is not written through
    "a link on the way": (
        EMIT, {"ext/helpers": Path("..")}, 'derivlint: "ext/helpers" is a symbolic link\n' + NOTHING.format("ext"),
    ),
    "a file in the tree": (
        IN_TREE, {"tree/Functions.h": "mine\n"},
        'derivlint: "tree/Functions.h" was not written by derivlint\n' + NOTHING.format("tree"),
    ),
    "a module of others": (MODULE, {"ops.py": "mine\n"}, OF_OTHERS),
    "an empty module": (MODULE, {"ops.py": ""}, OF_OTHERS),
    # neither is opened
    "a pipe for a module": (MODULE, {"ops.py": None}, 'derivlint: cannot write "ops.py": it is not a regular file\n'),
    "a pipe for a baseline": (
        ("check", "--baseline", "base.json"),
        {"base.json": None},
        'derivlint: cannot read "base.json": it is not a regular file\n',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_THE_WAY)
def test_what_is_in_the_way_stays(here: Path, name: str) -> None:
    arguments, files, message = IN_THE_WAY[name]
    for file, content in files.items():
        (here / file).parent.mkdir(exist_ok=True)
        if content is None:
            os.mkfifo(here / file)
        elif isinstance(content, Path):
            (here / file).symlink_to(content)
        else:
            (here / file).write_text(content)
    before = snapshot(here)
    assert run(*arguments) == (2, message)
    assert snapshot(here) == before
    if arguments[0] == "emit" and None not in files.values():
        # a check says that what is there is not what is wanted
        assert run(*arguments, "--check")[0] == 1


def test_what_changed_since_it_was_written_is_not_written_over(here: Path) -> None:
    assert run(*EMIT)[0] == 0
    with (here / "ext" / "nodes.h").open("a") as stream:
        stream.write("// mine\n")
    before = snapshot(here)
    status, reported = run(*EMIT)
    assert status == 2
    assert '"ext/nodes.h" has changed since derivlint wrote it\n' in reported
    assert snapshot(here) == before
    # a check says the same, and that what is there is not what is wanted
    status, reported = run(*EMIT, "--check")
    assert status == 1
    assert reported == (
        "derivlint: ext/nodes.h is stale\n"
        'derivlint: cannot overwrite: "ext/nodes.h" has changed since derivlint wrote it\n'
    )
    assert snapshot(here) == before


def test_a_manifest_cannot_name_files_of_others(here: Path) -> None:
    """Nothing is deleted because a file says so: neither by that of an older derivlint nor under a right digest."""
    (here / "ext" / "src").mkdir(parents=True)
    (here / "ext" / "src" / "important.py").write_text("important\n")
    (here / "ext" / MANIFEST).write_text(json.dumps({"format": 1, "files": ["src/important.py"], "operators": {}}))
    status, reported = run(*EMIT)
    assert status == 2
    assert f'"ext/{MANIFEST}" is not a manifest that this derivlint wrote' in reported
    (here / "ext" / MANIFEST).unlink()
    assert run(*EMIT)[0] == 0
    (here / "outside.cpp").write_text("outside\n")
    digest = digest_of(b"important\n")
    named = dict.fromkeys(("src/important.py", "../outside.cpp", str(here / "outside.cpp"), "nodes_1.txt"), digest)
    named["../outside.cpp"] = named[str(here / "outside.cpp")] = digest_of(b"outside\n")
    claim(here / "ext", **named)
    assert run(*EMIT)[0] == 0
    assert (here / "ext" / "src" / "important.py").read_text() == "important\n"
    assert (here / "outside.cpp").read_text() == "outside\n"


def test_stale_files_are_removed_only_as_they_were_written(here: Path) -> None:
    """What someone has changed is left, and that is said."""
    assert run(*EMIT, "--shards", "2")[0] == 0
    (here / "ext" / "nodes_1.cpp").write_text("mine\n")
    status, reported = run(*EMIT, "--shards", "1")
    assert (status, reported) == (
        0,
        'derivlint: stale file not removed: "ext/nodes_1.cpp" has changed since derivlint wrote it\n',
    )
    assert (here / "ext" / "nodes_1.cpp").read_text() == "mine\n"
    assert not (here / "ext" / "kernels_1.cpp").exists()


def link_to_file(path: Path) -> None:
    (path.parent.parent / "target").write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(path.parent.parent / "target")


def link_to_nothing(path: Path) -> None:
    path.unlink()
    path.symlink_to("nothing")


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def protect(path: Path) -> None:
    path.chmod(0o444)


@pytest.mark.parametrize("name", [MANIFEST, "nodes.h"])
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (link_to_file, "is a symbolic link"),
        (link_to_nothing, "is a symbolic link"),
        (folder, "is a folder"),
        (pipe, "is not a regular file"),
    ],
)
def test_what_is_not_a_file_is_refused(here: Path, name: str, change: Callable[[Path], None], reason: str) -> None:
    """A link is not followed, a pipe is not opened."""
    assert run(*EMIT)[0] == 0
    change(here / "ext" / name)
    (here / "derivatives.yaml").write_text(FORMULAS.replace("self.sin()", "at::sin(self)"))
    before = snapshot(here)
    status, reported = run(*EMIT)
    assert status == 2
    assert f'derivlint: "ext/{name}" {reason}\n' in reported
    assert snapshot(here) == before


def test_a_read_only_file_stays(here: Path) -> None:
    assert run(*EMIT)[0] == 0
    protect(here / "ext" / "nodes_0.cpp")
    (here / "derivatives.yaml").write_text(FORMULAS.replace("self.sin()", "at::sin(self)"))
    status, reported = run(*EMIT)
    assert status == 2
    assert '"ext/nodes_0.cpp" is read-only' in reported


HOSTILE = {
    "empty": b"", "number": b"1", "list": b"[]", "text for files": b'{"format": 1, "digests": "x", "digest": ""}',
    "list for digests": b'{"format": 1, "digests": [], "digest": "x"}', "nested": b"[" * 100_000,
    "nested mapping": b'{"a":' * 100_000, "long number": b'{"format": ' + b"1" * 100_000 + b"}",
    "not a number": b'{"format": NaN}', "no UTF-8": b'{"format": "\xff"}',
    "surrogate": b'{"format": 1, "digests": {"\\ud800": "x"}}',
}  # fmt: skip


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_whatever_a_manifest_holds_it_shows_nothing(here: Path, data: bytes) -> None:
    assert read_manifest(data) is None
    (here / "ext").mkdir()
    (here / "ext" / MANIFEST).write_bytes(data)
    status, reported = run(*EMIT)
    assert status == 2
    assert "is not a manifest that this derivlint wrote" in reported
    assert [path.name for path in (here / "ext").iterdir()] == [MANIFEST]


@pytest.mark.parametrize(
    "change",
    [
        {"digests": []},
        {"digests": {"nodes.h": 1}},
        {"digests": {"nodes.h": "0" * 63}},
        {"digests": {"nodes.h": ["0" * 64]}},
        {"pending": 3},
    ],
)
def test_a_sealed_manifest_of_wrong_types_shows_nothing(change: dict[str, object]) -> None:
    """Who computes the digest of a manifest can do so for any."""
    content: dict[str, object] = {"format": 1, "digests": {}} | change
    content["digest"] = digest_of(json.dumps(content, sort_keys=True).encode())
    assert read_manifest(json.dumps(content).encode()) is None


def test_every_emitted_name_can_be_ours(bundled_natives: NativeFunctions) -> None:
    """The names that a manifest may name are those that are emitted, in both modes."""
    from derivlint.emit.emission import EmissionMode, Helpers

    model = build_model(SourceFile("derivatives.yaml", FORMULAS), bundled_natives)
    for mode in EmissionMode:
        helpers = Helpers("", "") if mode is EmissionMode.EXTENSION else None
        files = emission(model, None, "mine", mode=mode, shards=2, helpers=helpers).files
        assert [name for name in files if not is_emitted_name(name) and name != MANIFEST] == []


# ---- one emitted file


def test_a_module_that_changed_is_not_written_over(here: Path) -> None:
    arguments = ("emit", "python", "--out", "ops.py")
    assert run(*arguments)[0] == 0
    (here / "derivatives.yaml").write_text(FORMULAS.replace("self.sin()", "at::sin(self)"))
    assert run(*arguments)[0] == 0
    text = (here / "ops.py").read_text()
    (here / "ops.py").write_text(text.replace("aten.sin", "aten.cos", 1))
    status, reported = run(*arguments)
    assert status == 2
    assert '"ops.py" has changed since derivlint wrote it' in reported


def test_a_module_is_written_through_a_link(here: Path) -> None:
    (here / "ops.py").symlink_to("real.py")
    assert run("emit", "python", "--out", "ops.py")[0] == 0
    assert (here / "ops.py").is_symlink()
    assert (here / "real.py").read_text().startswith('"""Differentiable operators')


# ---- files of the user


def test_a_fix_goes_through_links_and_keeps_permissions(here: Path) -> None:
    """A link stays one; another name of the same file keeps the old text, since it may be anybody's."""
    (here / "real").mkdir()
    real = here / "real" / "derivatives.yaml"
    real.write_text(FIXABLE)
    real.chmod(0o640)
    os.link(real, here / "other name")
    (here / "derivatives.yaml").unlink()
    (here / "derivatives.yaml").symlink_to(real)
    assert run("check", "--fix")[0] == 0
    assert (here / "derivatives.yaml").is_symlink()
    assert real.read_text() == FIXED
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert (here / "other name").read_text() == FIXABLE


def test_a_file_that_changed_meanwhile_is_left_alone(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if that happens at the last moment, when the new text is already on the disk."""
    (here / "derivatives.yaml").write_text(FIXABLE)

    def saved_by_an_editor(handle: int) -> None:
        (here / "derivatives.yaml").write_text("# mine\n" + FIXABLE)

    monkeypatch.setattr(os, "fsync", saved_by_an_editor)
    status, reported = run("check", "--fix")
    assert status == 2
    assert 'cannot write "derivatives.yaml": it has changed since it was read' in reported
    assert (here / "derivatives.yaml").read_text() == "# mine\n" + FIXABLE
    assert not list(here.glob(".new-*"))


@pytest.mark.skipif(not hasattr(os, "listxattr"), reason="no attributes")
def test_attributes_of_files_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    try:
        os.setxattr(path, "user.mine", b"value")
    except OSError:
        pytest.skip("the file system has no attributes")
    replace_file(path, b"new")
    assert os.getxattr(path, "user.mine") == b"value"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only the superuser can give files away")
def test_the_owner_of_a_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    os.chown(path, 1234, 4321)
    path.chmod(0o604)
    replace_file(path, b"new")
    status = path.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (1234, 4321, 0o604)


def test_a_new_file_has_the_permissions_of_the_process(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        replace_file(tmp_path / "file", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_what_is_written_is_brought_to_the_disk_before_it_is_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First the file, then its name, then the folder that has the name."""
    order: list[str] = []
    fsync, replace = os.fsync, os.replace

    def synced(handle: int) -> None:
        order.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        fsync(handle)

    def replaced(old: Path, new: Path) -> None:
        order.append("rename")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    replace_file(tmp_path / "file", b"text")
    assert order == ["file", "rename", "folder"]


@pytest.mark.parametrize("change", [folder, pipe, protect])
def test_only_regular_files_that_may_be_written_are_replaced(tmp_path: Path, change: Callable[[Path], None]) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")
    change(path)
    before = snapshot(tmp_path)
    with pytest.raises(OSError, match="it is"):
        write_file(path, b"new")
    assert snapshot(tmp_path) == before


def test_an_expectation_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"other")
    with pytest.raises(ChangedError):
        write_file(path, b"new", expected=b"old")
    with pytest.raises(ChangedError):
        write_file(tmp_path / "missing", b"new", expected=b"old")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    assert path.read_bytes() == b"other"


def left_by(process: int, folder: Path, run: str = "0" * 8, host: str | None = None) -> Path:
    """A file as a run leaves it that is killed while it writes."""
    path = folder / f".new-{host or writing._host()}-{process}-{run}{'1' * 8}"
    path.write_bytes(b"half")
    return path


def ended_process() -> int:
    """The number of a process that is no more."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid


def test_what_a_killed_run_left_is_removed_by_the_next(here: Path) -> None:
    """Also by a run that has nothing to write; and nothing else is removed that is only called alike."""
    ended = ended_process()
    left = left_by(ended, here)
    same_number = left_by(os.getpid(), here)
    linked = here / f".new-{writing._host()}-{ended}-{'2' * 16}"
    linked.symlink_to("derivatives.yaml")
    others = [
        *(here / ".new-mine", here / ".new-", here / f".new-{writing._host()}-{ended}-abc"),
        left_by(ended, here, host="elsewhere"),
        left_by(os.getppid(), here),
        left_by(os.getpid(), here, writing._RUN),
    ]
    for path in others:
        path.write_bytes(b"")
    twice = left_by(ended, here, "3" * 8)
    os.link(twice, here / "kept")
    inner = here / f".new-{writing._host()}-{ended}-{'4' * 16}"
    inner.mkdir()
    assert run("check", "--fix")[0] == 0
    assert not left.exists()
    assert not same_number.exists()
    assert all(os.path.lexists(path) for path in (linked, *others, twice, inner))
    (here / "again").mkdir()
    again = left_by(ended, here / "again")
    replace_file(here / "again" / "file", b"")
    assert not again.exists()


def test_leftovers_of_a_folder_that_is_not_there_are_none(tmp_path: Path) -> None:
    remove_leftovers(tmp_path / "missing")


# ---- baselines


def test_a_baseline_keeps_its_link(here: Path) -> None:
    (here / "base.json").symlink_to("real.json")
    assert run("check", "--baseline", "base.json", "--update-baseline")[0] == 0
    assert (here / "base.json").is_symlink()
    assert (here / "real.json").is_file()
