"""The fuzzing suite: the same number is the same input, and what is wrong is found, named and made small."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from derivlint.lint import INTERNAL_ERROR, Confidence, Diagnostic, Fix, Severity, TextEdit
from derivlint.source import SourceFile, Span
from fuzz.batch import Plan
from fuzz.campaign import Campaign
from fuzz.case import Case
from fuzz.finds import observed, smaller
from fuzz.generators.text import MAX_SIZE
from fuzz.oracle import check_diagnostics, check_plain
from fuzz.output_oracle import check_format
from fuzz.record import Record
from fuzz.registry import TARGETS
from fuzz.target import Target, Violation, require

pytestmark = pytest.mark.long

SOURCE = SourceFile("derivatives.yaml", "- name: sin\n  self: slef\n")
FOUND = Diagnostic("derivatives.yaml", Span(20, 24), "undefined-name", "a message", Severity.ERROR, Confidence.HIGH)


@pytest.mark.parametrize("name", TARGETS)
def test_a_number_is_always_the_same_input(name: str) -> None:
    target = TARGETS[name]
    made = [target.generate(Random(f"x:{number}")) for number in range(20)]
    assert made == [target.generate(Random(f"x:{number}")) for number in range(20)]
    assert len(set(made)) > 5
    assert max(map(len, made)) < 8 * MAX_SIZE


def test_a_plan_has_all_targets_in_their_shares() -> None:
    plan = Plan(7, list(TARGETS.values()))
    assert plan.input(3) == Plan(7, list(TARGETS.values())).input(3)
    assert plan.input(3) != Plan(8, list(TARGETS.values())).input(3)
    counts = [target("a", 1.0), target("b", 3.0)]
    names = [Plan(1, counts).input(number)[0].name for number in range(400)]
    assert 60 < names.count("a") < 140


def target(
    name: str, weight: float = 1.0, execute: Callable[[bytes], object] = len, *, seconds: float = 20.0
) -> Target:
    def generate(rng: Random) -> bytes:
        return bytes(rng.choices(b"abcdefgh\n", k=40))

    return Target(name, weight, generate, execute, seconds)


def refuse_x(data: bytes) -> object:
    require(b"x" not in data, "an x", data)
    return data


def crash(data: bytes) -> object:
    return SourceFile("a", "").line(5)


def hang(data: bytes) -> object:
    begin = time.process_time()
    while time.process_time() < begin + 30:
        pass
    return None


def grow(data: bytes) -> object:
    return len(b"x" * (350 * 2**20))


def waver(data: bytes, seen: list[int] = []) -> object:  # noqa: B006  # it is to remember
    seen.append(1)
    return len(seen)


@pytest.mark.parametrize(
    ("execute", "key"),
    [
        (refuse_x, "an x"),
        (crash, "IndexError in derivlint.source.file.line"),
        (hang, "more than 0.5 s of processor time in "),
        (grow, "more than 300 MB"),
        (waver, "another result of the same input"),
    ],
)
def test_what_must_not_happen_is_found(execute: Callable[[bytes], object], key: str) -> None:
    seconds = 0.5 if execute is hang else 20.0
    find = observed(target("t", execute=execute, seconds=seconds), b"axa", 12, twice=True)
    assert find is not None
    assert find.key.startswith(key)
    assert (find.target, find.index, find.data) == ("t", 12, b"axa")


def test_what_may_happen_is_not_found() -> None:
    assert observed(target("t", execute=refuse_x), b"a", twice=True) is None


def test_an_input_is_made_smaller() -> None:
    of = target("t", execute=refuse_x)
    find = observed(of, b"abc\ndef\nxyz\n" * 20)
    assert find is not None
    assert smaller(of, find).data == b"x"


def test_a_command_line_is_made_smaller_by_its_parts() -> None:
    def refuse(data: bytes) -> object:
        case = Case.decoded(data)
        require(not (b"x" in case.files.get("a", b"") and "--bad" in case.arguments), "bad")
        return None

    case = Case(("check", "--bad", "--good"), {"a": b"ab\nxy\n", "b": b"large" * 100})
    of = target("t", execute=refuse)
    find = observed(of, case.encoded())
    assert find is not None
    assert Case.decoded(smaller(of, find).data) == Case(("check", "--bad"), {"a": b"x"})


@settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.text(max_size=5), max_size=3),
    st.dictionaries(st.text("ab/", min_size=1, max_size=4), st.binary(max_size=20)),
)
def test_a_case_is_read_as_it_was_written(arguments: list[str], files: dict[str, bytes]) -> None:
    case = Case(tuple(arguments), files, b"\xff\xed\xa0\x80")
    assert Case.decoded(case.encoded()) == case


@pytest.mark.parametrize(
    "wrong",
    [
        replace(FOUND, rule=INTERNAL_ERROR),
        replace(FOUND, span=Span(20, 99)),
        replace(FOUND, span=Span(9, 3)),
        replace(FOUND, message=" "),
        replace(FOUND, fix=Fix("a title", (TextEdit(Span(-1, 2), ""),))),
    ],
)
def test_a_diagnostic_that_nobody_can_use_is_found(wrong: Diagnostic) -> None:
    check_diagnostics(SOURCE, [FOUND])
    with pytest.raises(Violation):
        check_diagnostics(SOURCE, [wrong])


@pytest.mark.parametrize("text", ["\x1b[31m", "a\rb", "\x9b31m", "\x00", "a\u202eb", "\x07"])
def test_a_text_that_steers_a_terminal_is_found(text: str) -> None:
    check_plain("plain\ntext \u00e9\n", "a text")
    with pytest.raises(Violation):
        check_plain(text, "a text")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("json", "{"), ("json", '{"version": 1, "diagnostics": []}'), ("json", '{"version": NaN}'),
        ("json-lines", "{}\n"), ("concise", "a line\n"), ("github", "::error::x\nnot a command\n"),
        ("sarif", '{"version": "2.0.0", "runs": []}'), ("gitlab", '[{"fingerprint": 1}, {"fingerprint": 1}]'),
        ("junit", "<testsuites tests='2'><testsuite><testcase/></testsuite></testsuites>"),
        ("junit", "<testsuites>\x1b</testsuites>"), ("rdjson", '{"diagnostics": [{"message": ""}]}'),
        ("rdjsonl", "[]\n"), ("lintrunner", "x\n"),
    ],
)  # fmt: skip
def test_output_that_its_reader_refuses_is_found(name: str, text: str) -> None:
    with pytest.raises(Violation):
        check_format(name, text, {})


def abort_on_a(data: bytes) -> object:
    if data.startswith(b"a"):
        os.kill(os.getpid(), signal.SIGKILL)
    require(not data.startswith(b"b"), "begins with b")
    return None


#: From Python 3.12 on, a fork is warned of where there are threads, as those of pytest-xdist.
FORKS = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


@FORKS
def test_a_campaign_survives_crashes_and_keeps_the_first_input_of_each_find(tmp_path: Path) -> None:
    plan = Plan(1, [target("t", execute=abort_on_a)])
    begins = [plan.input(number)[1][:1] for number in range(60)]
    assert {b"a", b"b"} <= set(begins)
    record = Record(tmp_path, 1, ["t"])
    assert Campaign(plan, record, 60, 2, None).run()
    assert record.done == 60
    assert record.finds[("t", "begins with b")] == begins.count(b"b")
    assert record.finds[("t", "the process is killed by SIGKILL")] == begins.count(b"a")
    assert sorted(path.read_bytes()[:1] for path in tmp_path.glob("*.input")) == [b"a", b"b"]


@FORKS
def test_a_campaign_goes_on_where_it_stopped(tmp_path: Path) -> None:
    plan = Plan(1, [target("t", execute=refuse_x)])
    record = Record(tmp_path, 1, ["t"])
    assert Campaign(plan, record, 50, 1, None).run()
    again = Record(tmp_path, 1, ["t"])
    assert again.done == 50
    assert again.ranges(120, 40) == [(50, 90), (90, 120)]
    assert Campaign(plan, again, 120, 1, None).run()
    assert (again.done, again.counts["t"]) == (120, 120)
    with pytest.raises(SystemExit, match="another seed"):
        Record(tmp_path, 2, ["t"])


def test_a_campaign_without_time_begins_nothing(tmp_path: Path) -> None:
    record = Record(tmp_path, 1, ["t"])
    assert Campaign(Plan(1, [target("t")]), record, 50, 1, 0.0).run()
    assert record.done == 0
