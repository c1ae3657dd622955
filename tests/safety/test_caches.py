"""Caches belong to the user alone, and whatever is in them, a run says what it says without them."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from derivlint.cli.main import cli
from derivlint.project.caching.cache import Row, cache_folder, cached, fits, read_entry, sealed, unsealed
from derivlint.project.caching.result_cache import decoded
from derivlint.source import not_private
from tests.running import runner

pytestmark = pytest.mark.skipif(os.name == "nt", reason="owners and permissions are those of POSIX")

TEXT = "- name: sin(Tensor self) -> Tensor\n  self: grad * slef.cos().conj()\n  result: auto_element_wise\n"
HEADER = "namespace at { Tensor mine(const Tensor& self, int64_t n = 1); }\n"
ROOT = pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only the superuser can give folders away")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that does not exist yet, in a working folder with a file to check."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DERIVLINT_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "derivatives.yaml").write_text(TEXT)
    (tmp_path / "mine.h").write_text(HEADER)
    return tmp_path / "cache"


def run(*more: str) -> tuple[int, str, str]:
    done = runner().invoke(cli, ["check", "--headers", "mine.h", *more])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


# ---- the folder


def test_the_folder_is_made_for_the_user_alone(cache: Path) -> None:
    """With those above it, whatever the mask of the process is."""
    before = os.umask(0)
    try:
        assert run() == run("--no-cache")
    finally:
        os.umask(before)
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    for path in cache.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(path.name.partition("-")[0] for path in cache.iterdir()) == ["findings", "header", "memos", "names"]


def refused(cache: Path, reason: str) -> None:
    """The folder is not used: nothing is read from it or written to it."""
    found = not_private(cache)
    assert found is not None
    assert reason in found
    assert cache_folder() is None
    before = sorted(cache.iterdir())
    assert run() == run("--no-cache")
    assert sorted(cache.iterdir()) == before


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777, 0o1777])
def test_a_folder_that_others_can_write_to_is_not_used(cache: Path, mode: int) -> None:
    cache.mkdir()
    cache.chmod(mode)
    refused(cache, "others can write to")


def test_a_folder_that_everybody_can_rename_is_not_used(tmp_path: Path, cache: Path) -> None:
    """Unless the sticky bit keeps others from that, as in a folder for temporary files."""
    cache.mkdir(mode=0o700)
    tmp_path.chmod(0o777)
    refused(cache, "everybody can rename files in")
    tmp_path.chmod(0o1777)
    assert cache_folder() == cache


@ROOT
def test_a_folder_of_another_user_is_not_used(cache: Path) -> None:
    cache.mkdir(mode=0o700)
    os.chown(cache, 1234, 1234)
    refused(cache, "belongs to another user")


@ROOT
def test_a_link_of_another_user_is_not_followed(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    cache.symlink_to("real")
    assert cache_folder() == cache
    os.lchown(cache, 1234, 1234)
    refused(cache, "belongs to another user")
    os.lchown(cache, 0, 0)
    os.chown(tmp_path / "real", 1234, 1234)
    refused(cache, "is a link to a folder of another user")


@pytest.mark.parametrize("what", ["file", "pipe", "dangling link", "below a file"])
def test_what_is_not_a_folder_is_no_cache(tmp_path: Path, cache: Path, what: str, monkeypatch: Any) -> None:
    if what == "pipe":
        os.mkfifo(cache)
    elif what == "dangling link":
        cache.symlink_to("nothing")
    else:
        cache.write_text("")
    if what == "below a file":
        monkeypatch.setenv("DERIVLINT_CACHE_DIR", str(cache / "below"))
    assert cache_folder() is None
    assert run() == run("--no-cache")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"XDG_CACHE_HOME": "{}/xdg", "HOME": "{}"}, "xdg/derivlint"),
        ({"XDG_CACHE_HOME": "xdg", "HOME": "{}"}, ".cache/derivlint"),
        ({"XDG_CACHE_HOME": "", "HOME": "{}"}, ".cache/derivlint"), ({"HOME": "{}"}, ".cache/derivlint"),
        ({"HOME": "{}/missing"}, None), ({"HOME": ""}, None), ({"HOME": "/"}, None), ({"HOME": "relative"}, None),
        ({"HOME": "{}/derivatives.yaml"}, None), ({"HOME": "/dev/null"}, None),
    ],
)  # fmt: skip
def test_where_the_folder_is(
    tmp_path: Path, cache: Path, monkeypatch: Any, environment: dict[str, str], expected: str | None
) -> None:
    """Never in a folder for everybody, and a home that is not there is not made."""
    for name in ("DERIVLINT_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value.replace("{}", str(tmp_path)))
    before = set(tmp_path.iterdir())
    assert cache_folder() == (tmp_path / expected if expected is not None else None)
    if expected is None:
        assert set(tmp_path.iterdir()) == before
    assert run() == run("--no-cache")


def test_without_a_home_nothing_is_kept_for_everybody(tmp_path: Path, cache: Path) -> None:
    """A user without entry and home, as in containers: no folder for temporary files takes the place of the cache."""
    program = (
        "import os, sys\n"
        "import derivlint.project.caching.cache as cache\n"
        "import pwd\n"
        "def missing(number): raise KeyError(number)\n"
        "pwd.getpwuid = missing\n"
        "print(cache.cache_folder())\n"
    )
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("HOME", "XDG_CACHE_HOME", "DERIVLINT_CACHE_DIR")
    }
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "None\n"


def test_a_folder_that_can_only_be_read_is_read(cache: Path) -> None:
    first = run()
    for path in cache.iterdir():
        path.chmod(0o400)
    cache.chmod(0o500)
    try:
        assert run() == first == run("--no-cache")
    finally:
        cache.chmod(0o700)


# ---- what is in it

_NAN = float("nan")


def damaged(value: Any) -> list[Any]:
    """Values of wrong types and sizes, some nested deeply."""
    deep: Any = value
    for _ in range(100):
        deep = [deep]
    return [None, True, -1, 10**30, 1.5, _NAN, "x", [], {}, [value], {"x": value}, deep]


def findings_file(cache: Path) -> Path:
    (found,) = cache.glob("findings-*")
    return found


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A value of JSON with another part."""
    copy = json.loads(json.dumps(value))
    if not path:
        return new
    target = copy
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = new
    return copy


def parts(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all parts of a value of JSON."""
    found = [path]
    if isinstance(value, dict):
        for key, item in value.items():
            found += parts(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += parts(item, (*path, index))
    return found


def test_findings_of_wrong_types_are_made_anew(cache: Path) -> None:
    """Every part of them is replaced by everything, under the right digest: what is read is None, or has the types."""
    first = run()
    data = findings_file(cache).read_bytes()
    body = unsealed(data)
    assert body is not None
    value = json.loads(body)
    count = 0
    for path in parts(value):
        for new in damaged(value):
            changed = sealed(json.dumps(replaced(value, path, new)).encode())
            found = decoded(changed, "derivatives.yaml", {None: len(TEXT), "derivatives.yaml": len(TEXT)})
            count += 1
            if found is not None:
                for item in found.diagnostics:
                    assert type(item.message) is str
                    assert 0 <= item.span.start <= item.span.end <= len(TEXT)
                assert type(found.entries) is type(found.formulas) is int
    assert count > 300
    assert first[0] == 1


@pytest.mark.parametrize(
    "change",
    [
        (("entries",), []), (("entries",), -1), (("entries",), True), (("formulas",), 10**40), (("formulas",), _NAN),
        (("silenced",), [10**6]), (("silenced",), [-1]), (("ran",), "all"), (("diagnostics",), {}), (("crashes",), 1),
        (("diagnostics", 0, "path"), "/etc/passwd"), (("diagnostics", 0, "span"), [5, 10**9]),
        (("diagnostics", 0, "span"), [5, 4]), (("diagnostics", 0, "rule"), 3), (("diagnostics", 0, "message"), None),
        (("diagnostics", 0, "severity"), "fatal"),
        (("diagnostics", 0, "related"), [{"message": "x", "span": [0, 1], "path": "/etc/passwd"}]),
        (("diagnostics", 0, "fix"), {"title": "x", "edits": [{"span": [0, 10**9], "text": "x"}]}),
        (("diagnostics", 0, "elsewhere"), True), ((), []),
    ],
    ids=str,
)  # fmt: skip
def test_a_run_with_damaged_findings_is_one_without(cache: Path, change: tuple[tuple[Any, ...], Any]) -> None:
    first = run()
    place = findings_file(cache)
    body = unsealed(place.read_bytes())
    assert body is not None
    value = json.loads(body)
    place.write_bytes(sealed(json.dumps(replaced(value, *change)).encode()))
    assert run("--output-format", "json") == run("--output-format", "json", "--no-cache")
    assert run() == first
    # and it is there again
    assert json.loads(unsealed(place.read_bytes()) or b"") == value


BODIES = {
    "nested": b"[" * 100_000,
    "long number": b"1" * 100_000,
    "nothing": b"",
    "not a number": b"NaN",
    "no UTF-8": b'"\xff"',
}


@pytest.mark.parametrize("kind", ["findings", "header"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_no_content_of_a_file_ends_a_run(cache: Path, kind: str, body: bytes) -> None:
    first = run()
    for data in (sealed(body), body, b"\n" + body):
        for path in cache.glob("findings-*"):
            path.unlink()
        run()
        (place,) = cache.glob(f"{kind}-*")
        place.write_bytes(data)
        if kind == "header":
            findings_file(cache).unlink()
        assert run() == first


@pytest.mark.parametrize("what", ["pipe", "folder", "link"])
def test_what_is_not_a_file_is_not_read(cache: Path, what: str) -> None:
    first = run()
    for place in list(cache.iterdir()):
        data = place.read_bytes()
        place.unlink()
        if what == "pipe":
            os.mkfifo(place)
        elif what == "folder":
            place.mkdir()
        else:
            (cache / "elsewhere").write_bytes(data)
            place.symlink_to("elsewhere")
        assert read_entry(place) is None
    assert run() == first
    assert run() == first


@pytest.mark.parametrize(
    "value",
    [
        {"functions": []},
        {"functions": {"at": {"mine": [["Tensor", "Tensor self"]]}}},
        {"functions": {"at": {"mine": [["Tensor", ["Tensor self"], {"static": 1}]]}}},
        {"functions": {"at": {"mine": [["Tensor"]]}}},
        {"functions": {"at": {"mine": [[None, []]]}}},
        {"variables": {"at": {"x": 1}}},
        {"classes": {"X": {"methods": 1}}},
        {"classes": {"X": {"unknown": []}}},
        {"unknown": {}},
        [],
    ],
    ids=str,
)
def test_declarations_of_wrong_types_are_made_anew(cache: Path, value: Any) -> None:
    first = run()
    (place,) = cache.glob("header-*")
    right = place.read_bytes()
    place.write_bytes(sealed(json.dumps(value).encode()))
    findings_file(cache).unlink()
    assert run() == first
    assert place.read_bytes() == right


def test_only_values_of_the_form_are_taken(cache: Path) -> None:
    assert cached("kind", b"x", lambda: [1], shape=[int]) == [1]
    assert cached("kind", b"x", lambda: [2], shape=[int]) == [1]
    # the same entry, wanted in another form
    assert cached("kind", b"x", lambda: ["a"], shape=[str]) == ["a"]
    assert cached("kind", b"x", lambda: ["b"], shape=[str]) == ["a"]


@pytest.mark.parametrize(
    ("value", "shape", "expected"),
    [
        (1, int, True), (True, int, False), (1.0, int, False), (None, (str, None), True), ([1, "a"], [int], False),
        ([1, "a"], Row(int, str), True), ([1], Row(int, str), False), ({"a": 1}, {"a": int}, True),
        ({"a": 1, "b": 1}, {"a": int}, False), ({"b": 1}, {"*": int}, True), ([], {"*": int}, False),
        (_NAN, object, True),
    ],
)  # fmt: skip
def test_forms(value: object, shape: Any, expected: bool) -> None:
    assert fits(value, shape) is expected
