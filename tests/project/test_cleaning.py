"""The cache is emptied of what derivlint has put there, and of nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from derivlint.project.caching.cache import VARIABLE, cached, clean
from tests.cli.conftest import SIN, Run, here, run

__all__ = ["here", "run"]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv(VARIABLE, str(folder))
    return folder


def test_files_of_others_stay(cache: Path) -> None:
    cached("header", b"x", lambda: {"a": 1})
    mine = ["notes.txt", "findings-of-mine", "release-1.json", "photo-0123.json"]
    for name in mine:
        (cache / name).write_text("mine")
    (cache / "folder").mkdir()
    work = cache / "verify"
    (work / ("0" * 32) / "build").mkdir(parents=True)
    work.chmod(0o700)
    (work / ("0" * 32) / "build" / "lib.so").write_bytes(b"12345")
    (work / "samples-4-2.13.0-float64.bin").write_bytes(b"123")
    (work / "mine.bin").write_text("mine")
    done = clean()
    assert (done.folder, done.files) == (cache, 3)
    assert done.size > 8
    assert sorted(path.name for path in cache.iterdir()) == sorted([*mine, "folder", "verify"])
    assert [path.name for path in work.iterdir()] == ["mine.bin"]
    assert clean().files == 0


def test_links_are_removed_and_not_followed(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (cache / f"names-{'0' * 32}.json").symlink_to(tmp_path / "mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine").write_text("mine")
    work = cache / "verify"
    work.mkdir(mode=0o700)
    (work / ("0" * 32)).symlink_to(tmp_path / "folder")
    clean()
    assert (tmp_path / "mine").read_text() == (tmp_path / "folder" / "mine").read_text() == "mine"


def test_the_command_says_what_it_has_removed(run: Run, here: Path, cache: Path) -> None:
    (here / "derivatives.yaml").write_text(SIN)
    assert run("check").status == 0
    assert list(cache.iterdir())
    out = run("clean").out
    assert out.endswith(f' MB) removed from "{cache}"\n')
    assert list(cache.iterdir()) == []
    # and everything works as before
    assert run("check").status == 0


def test_without_a_cache_there_is_nothing_to_clean(run: Run) -> None:
    assert run("clean").out == "there is no cache\n"
