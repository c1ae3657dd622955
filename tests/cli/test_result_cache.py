"""The cache of findings: it makes runs fast, and never changes a byte of what they say."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec import msgpack

from derivlint.formats.registry import FORMATS
from derivlint.project.caching.cache import sealed, unsealed
from derivlint.project.caching.result_cache import MAX_RESULTS, cache_entry_of, store_findings, stored_findings
from derivlint.project.filtering.findings import Findings
from derivlint.project.operators import Operators
from derivlint.project.settings import Settings
from derivlint.source import SourceFile
from tests.cli.conftest import Outcome, Run
from tests.sampling import sample

#: Errors, warnings, a fix, a hidden finding, a comment that silences, one that is of no use, and related places.
TEXT = """\
- name: sin(Tensor self) -> Tensor
  self: grad * slef.cos().conj()  # derivlint: ignore[undefined-name] a test
  result: auto_element_wise
# derivlint: ignore[affine-gradient]
- name: cos(Tensor self) -> Tensor
  self: "grads[0] * -self.sin().conj() // \u00e9"
- name: cos(Tensor self) -> Tensor
  self: grad * self + 1.5
- name: xlogy.Tensor(Tensor self, Tensor other) -> Tensor
  self: grad * at::xlogy((self != 0), othr)
  other: grad * self / other
"""
EDITED = TEXT.replace("othr", "other")
NATIVE = "- func: mine(Tensor self) -> Tensor\n  variants: function\n  dispatch:\n    CPU: mine\n"
OPERATORS = Operators("a test", bundled=True)


@pytest.fixture
def cache(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the cache, which is not there yet."""
    monkeypatch.setenv("DERIVLINT_CACHE_DIR", str(here / ".cache"))
    return here / ".cache"


def results(cache: Path) -> list[Path]:
    return sorted(cache.glob("findings-*"))


def three_runs(run: Run, arguments: Sequence[str]) -> Outcome:
    """A run without the cache, which one that writes it and one that reads it must equal."""
    without = run("check", *arguments, "--no-cache")
    assert run("check", *arguments) == without
    assert run("check", *arguments) == without
    return without


@pytest.mark.parametrize("output_format", list(FORMATS))
def test_every_format_is_the_same_with_and_without(run: Run, here: Path, cache: Path, output_format: str) -> None:
    path = here / "derivatives.yaml"
    texts = [TEXT, EDITED, "", "- name: [", "- {}\n- 1\n", TEXT.replace("\n", "\r\n")]
    texts = texts if output_format == "json" else sample(texts, 1, always=[TEXT])
    for text in texts:
        path.write_bytes(text.encode())
        three_runs(run, ["--output-format", output_format])
    assert len(results(cache)) == len(texts)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--min-severity", "error"],
        ["--min-confidence", "low"],
        ["--no-ignores"],
        ["--exit-zero"],
        ["--statistics"],
        ["--fail-level", "error"],
        ["--baseline", "base.json"],
    ],
    ids=" ".join,
)
def test_what_is_shown_is_decided_afterwards(run: Run, here: Path, cache: Path, arguments: list[str]) -> None:
    (here / "derivatives.yaml").write_text(TEXT)
    (here / "base.json").unlink(missing_ok=True)
    if "--baseline" in arguments:
        assert run("check", *arguments, "--update-baseline").status == 0
    run("check")
    known = results(cache)
    assert len(known) == 1
    cached = run("check", *arguments)
    assert results(cache) == known
    assert cached == run("check", *arguments, "--no-cache")


@pytest.mark.parametrize(
    "configuration",
    [
        'severity = { undefined-name = "info" }\n',
        'severity = { undefined-name = "off" }\n',
        'per-file-ignores = { "derivatives.yaml" = ["undefined-name"] }\n',
        'per-operator-ignores = { "xlogy*" = ["ALL"] }\n',
        'select = ["undefined-name"]\n',
        "preview = true\n",
        "require-ignore-reason = true\n",
        'native-functions = ["native_functions.yaml"]\ntorch = "2.13.0"\n',
    ],
)
def test_a_configuration_counts_at_once(run: Run, here: Path, cache: Path, configuration: str) -> None:
    (here / "derivatives.yaml").write_text(TEXT)
    (here / "native_functions.yaml").write_text(NATIVE)
    before = three_runs(run, ["--min-confidence", "low"])
    (here / "derivlint.toml").write_text(configuration)
    after = three_runs(run, ["--min-confidence", "low"])
    assert before != after or configuration.startswith(("preview", "native"))
    (here / "derivlint.toml").unlink()
    assert run("check", "--min-confidence", "low") == before


def test_other_operators_make_another_result(run: Run, here: Path, cache: Path) -> None:
    (here / "derivatives.yaml").write_text("- name: mine(Tensor self) -> Tensor\n  self: grad\n")
    arguments = ["--native-functions", "native_functions.yaml"]
    (here / "native_functions.yaml").write_text(NATIVE)
    assert three_runs(run, arguments).status == 0
    (here / "native_functions.yaml").write_text(NATIVE.replace("mine", "yours"))
    assert three_runs(run, arguments).status == 1
    (here / "native_functions.yaml").write_text(NATIVE + "- func: (\n")
    assert three_runs(run, arguments).status == 2


def test_a_file_with_another_name_has_its_own_result(run: Run, here: Path, cache: Path) -> None:
    for name in ("derivatives.yaml", "derivatives_more.yaml"):
        (here / name).write_text(TEXT)
    both = three_runs(run, ["derivatives.yaml", "derivatives_more.yaml"])
    assert both.out.count("derivatives_more.yaml:") == both.out.count("derivatives.yaml:")
    assert len(results(cache)) == 2


@pytest.mark.parametrize("how", ["empty", "cut", "flipped", "folder", "unreadable", "foreign"])
def test_a_damaged_result_is_none(run: Run, here: Path, cache: Path, how: str) -> None:
    (here / "derivatives.yaml").write_text(TEXT)
    first = run("check")
    (entry,) = results(cache)
    data = entry.read_bytes()
    if how == "folder":
        entry.unlink()
        entry.mkdir()
    elif how == "unreadable":
        entry.unlink()
        entry.symlink_to(entry)
    else:
        middle = len(data) // 2
        flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
        foreign = b"37517e5f3dc66819f61f5a7bb8ace1921282415f10551d2defa5c3eb0985b570\n7"
        entry.write_bytes({"empty": b"", "cut": data[:-1], "flipped": flipped, "foreign": foreign}[how])
    assert run("check") == first
    assert run("check") == first


def test_a_folder_that_cannot_be_written_is_no_cache(run: Run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "derivatives.yaml").write_text(TEXT)
    first = run("check", "--no-cache")
    (here / "file").write_text("")
    monkeypatch.setenv("DERIVLINT_CACHE_DIR", str(here / "file" / "below"))
    assert run("check") == first
    assert not list(here.glob(".new-*"))


def test_after_an_edit_the_run_gives_what_one_without_a_cache_gives(run: Run, here: Path, cache: Path) -> None:
    file = here / "derivatives.yaml"
    file.write_text(TEXT)
    run("check")
    for text in (TEXT.replace("grads[0]", "grad"), f"# a line\n{TEXT}", TEXT + TEXT, TEXT[: len(TEXT) // 2], TEXT):
        file.write_text(text)
        expected = run("check", "--no-cache")
        assert run("check") == expected
        assert run("check") == expected
    # what was found in the last text has one place, whatever the text
    assert len(list(cache.glob("memos-*"))) == 1


def test_an_unreadable_text_of_another_layout_is_checked(run: Run, here: Path, cache: Path) -> None:
    """The memos of the text before, which has no versions, are dropped."""
    path = here / "derivatives.yaml"
    for text in (TEXT, " version: v2.1", TEXT):
        path.write_text(text)
        three_runs(run, [])


@pytest.fixture
def used(run: Run, here: Path, cache: Path) -> Callable[[Callable[[bytes], bytes]], None]:
    """Assert that an edited file is checked as without a cache, whatever became of the memos of the text before."""
    file = here / "derivatives.yaml"
    file.write_text(TEXT)
    run("check")
    (memos,) = cache.glob("memos-*")
    data = memos.read_bytes()
    results_before = set(results(cache))
    file.write_text(TEXT + "\n# more\n")
    expected = run("check", "--no-cache")

    def invoke(damaged: Callable[[bytes], bytes]) -> None:
        memos.write_bytes(damaged(data))
        assert run("check") == expected
        # else the next run would look no further
        for result in set(results(cache)) - results_before:
            result.unlink()

    return invoke


def test_memos_that_do_not_fit_together_run_nothing(used: Callable[[Callable[[bytes], bytes]], None]) -> None:
    """Whoever can write to the user's cache cannot make anything run, nor anything crash."""
    values: tuple[tuple[tuple[int, ...], object], ...] = (
        ((0,), "candle"), ((1,), ["os:system"]), ((1,), []), ((2,), []), ((2, 0), ["os:system", "true", False]),
        ((2, 0), ["derivlint.model.model:_shares_foreach", "", False]), ((3,), []), ((3, 0, 0), "- name: other"),
        ((3, 1, 1), []), ((3, 1, 3, 3), [7777]), ((3, 1, 3, 3), [-1]), ((3, 1, 3, 1), -7),
        ((3, 1, 3, 2), [[["nothing", 3], [0, 9]]]), ((4,), [[0, 1, [0]]]), ((4,), [[7777, 1, []]]), ((5,), [7777]),
    )  # fmt: skip
    for place, value in sample(values, 8):

        def changed(data: bytes) -> bytes:
            stored = msgpack.decode(unsealed(data) or b"", strict=False)
            *path, last = place  # noqa: B023  # called at once
            inner = stored
            for index in path:
                inner = inner[index]
            inner[last] = value  # noqa: B023
            return sealed(msgpack.encode(stored))

        used(changed)


def test_a_damaged_file_of_memos_is_not_used(used: Callable[[Callable[[bytes], bytes]], None]) -> None:
    def flipped(data: bytes) -> bytes:
        middle = len(data) // 2
        return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]

    used(lambda data: b"")
    used(lambda data: data[:-1])
    used(flipped)
    used(lambda data: sealed(b"\xc0"))
    used(lambda data: sealed(b"\x81"))


def test_no_cache_neither_reads_nor_writes(run: Run, here: Path, cache: Path) -> None:
    (here / "derivatives.yaml").write_text(TEXT)
    run("check", "--no-cache")
    assert not cache.exists()


@pytest.mark.usefixtures("crashing_rule")
def test_a_check_that_crashed_is_not_kept(run: Run, here: Path, cache: Path) -> None:
    (here / "derivatives.yaml").write_text(TEXT)
    assert run("check").status == 3
    assert results(cache) == []


def test_fixing_and_comparing_do_not_ask_the_cache(run: Run, here: Path, cache: Path) -> None:
    (here / "derivatives.yaml").write_text(TEXT)
    assert "grads[0]" in run("check", "--diff").out
    assert results(cache) == []


def test_results_that_nobody_asks_for_go_first(here: Path, cache: Path) -> None:
    cache.mkdir(mode=0o700)
    for number in range(MAX_RESULTS + 5):
        old = cache / f"findings-{number:064x}"
        old.write_bytes(b"")
        os.utime(old, (1000 + number, 1000 + number))
    # what is only called alike belongs to someone else
    others = {".new-left", "findings-of-mine.txt", "header-0.json"}
    for name in others:
        (cache / name).write_bytes(b"")
        os.utime(cache / name, (1000, 1000))
    source = SourceFile("derivatives.yaml", "")
    place = cache_entry_of(source, OPERATORS, Settings())
    assert place is not None
    assert stored_findings(place, "derivatives.yaml") is None
    findings = Findings((), frozenset(), frozenset({"a-rule"}), 0, 0, 0)
    store_findings(place, findings)
    kept = [f"findings-{number:064x}" for number in range(6, MAX_RESULTS + 5)]
    assert {path.name for path in cache.iterdir()} == {*kept, *others, place.file.name}
    assert stored_findings(place, "derivatives.yaml") == findings


def test_runs_at_the_same_time_agree(here: Path, cache: Path) -> None:
    for number in range(3):
        (here / f"derivatives{number}.yaml").write_text(TEXT)
    command = [sys.executable, "-m", "derivlint", "check", "--output-format", "concise", "."]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
    outcomes = {process.communicate() for process in runs}
    assert len(outcomes) == 1
    assert [process.returncode for process in runs] == [1, 1, 1]
    assert len(results(cache)) == 3
    assert not list(cache.glob(".new-*"))


def test_a_run_from_the_cache_imports_neither_rules_nor_parsers(here: Path, cache: Path) -> None:
    (here / "derivatives.yaml").write_text(TEXT)
    program = "import sys; from derivlint.cli.main import run; run(['check']); print(*sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", program]
    first, second = (subprocess.run(command, capture_output=True, text=True, check=False) for _ in range(2))
    assert "undefined-name" in second.stdout
    assert first.stdout == second.stdout
    heavy = {"derivlint.model.model", "derivlint.cpp", "derivlint.rules.undefined_name"}
    assert heavy <= set(first.stderr.split())
    assert (heavy | {"lark", "ruamel.yaml"}).isdisjoint(second.stderr.split())
