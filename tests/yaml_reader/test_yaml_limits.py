"""Hostile input: limits instead of exhaustion, and no exception on anything."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derivlint.source import SourceFile, Span
from derivlint.yaml_reader import Document, build, read_yaml
from derivlint.yaml_reader.build import MAX_ALIASED_NODES, MAX_DEPTH
from tests.counting import calls_of
from tests.sampling import CAMPAIGN, examples
from tests.yaml_reader.helpers import dump, read, scalars

TOO_DEEP = f"the YAML is nested more than {MAX_DEPTH} levels deep"


@pytest.mark.parametrize(("opening", "levels"), [("[", 1), ("{a: ", 1), ("- ", 1), ("? ", 1), ("[{a: ", 2)])
def test_nesting_is_limited_where_it_gets_too_deep(opening: str, levels: int) -> None:
    text = opening * 100_000
    document = read(text)
    assert document.root is None
    (problem,) = document.problems
    assert (problem.kind.value, problem.message) == ("limit", TOO_DEEP)
    assert problem.span.start in (MAX_DEPTH // levels * len(opening), MAX_DEPTH // levels * len(opening) + 2)


def test_the_deepest_allowed_nesting_is_read() -> None:
    text = "[" * MAX_DEPTH + "x" + "]" * MAX_DEPTH
    document = read(text)
    assert document.problems == ()
    assert [scalar.value for scalar in scalars(document.root)] == ["x"]
    assert [problem.message for problem in read("[" + text + "]").problems] == [TOO_DEEP]


def test_exponential_aliases_are_refused_without_being_expanded() -> None:
    lines = ["- &a0 [x, x]\n"]
    lines += [f"- &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 50)]
    (problem,) = read("".join(lines)).problems
    assert problem.kind.value == "limit"
    assert problem.message == f"the aliases stand for more than {MAX_ALIASED_NODES} nodes"


def test_aliases_count_for_the_depth() -> None:
    lines = ["- &a0 [x]\n", *(f"- &a{i} [*a{i - 1}]\n" for i in range(1, 200))]
    (problem,) = read("".join(lines)).problems
    assert (problem.kind.value, problem.message) == ("limit", TOO_DEEP)


def test_a_reasonable_number_of_aliases_is_fine() -> None:
    text = "- &a {b: c}\n" + "- *a\n" * 1000
    assert read(text).problems == ()


def test_the_number_of_nodes_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "MAX_NODES", 10)
    for text in ("[" + "a, " * 9 + "]", "[" + "[], " * 9 + "]"):
        assert read(text).problems == ()
    for text in ("- a\n" * 11, "[" + "[], " * 20 + "]", "- a\n- b: c: d\n" + "- e\n" * 20):
        assert read(text).problems[-1].kind.value == "limit"
        assert read(text).problems[-1].message == "the file has more than 10 YAML nodes"


SIZE = 300_000 if CAMPAIGN else 50_000


@pytest.mark.growth
@pytest.mark.parametrize(
    "piece",
    [
        "- 'a\n", "- *x\n", "- a: b: c\n", "- a\n", "&a ", "! ", "%", "\t", "---\n", "...\n", '- "\n  b: c\n', "1:",
        "'a' ", "a: ", "? ", ":", ",", "[],", "- a\n" * 99 + "- b: c: d\n", "- &a b\n- *a\n", "|", "- |\n", "#", "\n",
        "\\", "- [\n",
    ],
)  # fmt: skip
def test_work_grows_with_the_text_and_not_faster(piece: str) -> None:
    """Twice the text takes about twice as many calls; inside of a call, what is quadratic takes minutes."""

    def calls(size: int) -> int:
        return calls_of(lambda: read(piece * (size // len(piece))))

    half, whole = calls(SIZE // 2), calls(SIZE)
    assert whole < 3 * half


@settings(max_examples=examples(300), deadline=None)
@given(st.text(max_size=80))
def test_any_text_gives_a_document(text: str) -> None:
    for pure in (False, True):
        check_document(read(text, pure=pure), len(text))


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=80))
def test_any_bytes_give_a_document(data: bytes) -> None:
    source = SourceFile.from_bytes("x", data)
    check_document(read_yaml(source), len(source.text))


def test_any_heap_of_yaml_tokens_gives_a_document() -> None:
    choices = ["- ", "-", "  ", "\n", "\n  ", "\n- ", "a", "name", "é", "🎉", ": ", ":", "? ", ", ", "[", "]", "{", "}"]
    choices += [
        "'", '"', "\\", "\\u00", "|", "|\n", "|2+\n", ">\n", "&a", "*a", "!", "!!int ", "#", " # ", "%", "@", "`",
    ]  # fmt: skip
    choices += ["\t", "\r", "\x85", "\u2028", "---", "\n...\n", "\n---\n", "<<", "=", "~", "1", "\ufeff"]
    chance = random.Random(7)
    for _ in range(1500):
        text = "".join(chance.choice(choices) for _ in range(chance.randint(1, 15)))
        check_document(read(text), len(text))
        check_document(read(text, pure=True), len(text))


def check_document(document: Document, size: int) -> None:
    dump(document.root)
    whole = Span(0, size)
    for problem in document.problems:
        assert whole.contains(problem.span), problem
        assert problem.span.start <= problem.span.end
        assert "\n" not in problem.message
        assert all(whole.contains(span) for _, span in problem.related)
    assert list(document.problems) == sorted(document.problems, key=lambda problem: problem.span)
    for scalar in scalars(document.root):
        assert whole.contains(scalar.within)
        assert whole.contains(scalar.range_of(0, len(scalar.value)))
