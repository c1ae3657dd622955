"""Collections of Python modules, from their text: the shapes that are understood, and what becomes of all others."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derivlint.operators.literals import (
    LONGEST,
    MOST_COPIES,
    MOST_ELEMENTS,
    Literal,
    Module,
    Modules,
    UnknownShapeError,
)


def collection(text: str, name: str = "NAMES", **others: str) -> tuple[Literal, ...]:
    modules = [Module("m", text), *(Module(other, of_other) for other, of_other in others.items())]
    return Modules(modules).collection("m", name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NAMES = {'a', 'b'}", ("a", "b")),
        ("NAMES = ['b', 'a', 'b']", ("b", "a")),
        ("NAMES = ('a',)", ("a",)),
        ("NAMES: set[str] = {'a'}", ("a",)),
        ("NAMES = {'a': 'self', 'b': make(1)}", ("a", "b")),
        ("NAMES = {('_foreach_add', 'Scalar'), 'a'}", (("_foreach_add", "Scalar"), "a")),
        ("NAMES = {'a' 'b'}", ("ab",)),
        ("NAMES = {\n    'a',  # why\n    # 'b',\n}", ("a",)),
        ("FIRST = {'a'}\nNAMES = FIRST | {'b'}", ("a", "b")),
        ("FIRST = ['a']\nNAMES = FIRST + ['b']", ("a", "b")),
        ("FIRST = {'a', 'b'}\nNAMES = FIRST - {'a'}", ("b",)),
        ("FIRST = {'a', 'b'}\nNAMES = FIRST & {'a'}", ("a",)),
        ("FIRST = ['a']\nNAMES = {'b', *FIRST}", ("b", "a")),
        ("FIRST = {'a': 'x'}\nNAMES = {**FIRST, 'b': 'y'}", ("a", "b")),
        ("FIRST = {'a': 'x'}\nNAMES = set(FIRST.keys()).union({'b'}, ['c'])", ("a", "b", "c")),
        ("NAMES = frozenset(['a'])", ("a",)),
        ("NAMES = set()\nNAMES.add('a')\nNAMES.update(['b'], ('c',))", ("a", "b", "c")),
        ("NAMES = []\nNAMES.append('a')\nNAMES.extend({'b'})", ("a", "b")),
        ("NAMES = {'a'}\nNAMES |= {'b'}", ("a", "b")),
        ("NAMES = ['a']\nNAMES += ['b']", ("a", "b")),
        ("NAMES = {}\nNAMES['a'] = 'self'", ("a",)),
        ("MORE = ['b']\nNAMES = {'a': 'x'}\nfor key in MORE:\n    NAMES[key] = 'self'", ("a", "b")),
        ("NAMES = {'a'}\nNAMES = {'b'}", ("b",)),
        ("FIRST = NAMES = {'a'}", ("a",)),
    ],
)
def test_shapes_that_are_understood(text: str, expected: tuple[Literal, ...]) -> None:
    assert sorted(map(str, collection(text))) == sorted(map(str, expected))


def test_names_come_from_other_modules() -> None:
    text = "from .other import FIRST as BASE\nNAMES = BASE | {'b'}"
    assert collection(text, other="FIRST = {'a'}") == ("a", "b")


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("NAMES = {x for x in y}", 1, '"SetComp" is not understood here'),
        ("\nNAMES = load('file')", 2, '"Call" is not understood here'),
        ("NAMES = {'a', 3}", 1, '"Constant" is not understood here'),
        ("NAMES = 'abc'", 1, '"NAMES" is not a collection'),
        ("NAMES = set('abc')", 1, '"Constant" is not understood here'),
        ("NAMES = {f'{x}'}", 1, '"JoinedStr" is not understood here'),
        ("NAMES = {'a'} ^ {'b'}", 1, '"BinOp" is not understood here'),
        ("OTHER = 1", 1, '"NAMES" is not defined'),
        ("NAMES = {'a'}\nNAMES.discard('a')", 2, '"Call" is not understood here'),
        ("NAMES = {'a'}\nif flag:\n    NAMES.add('b')", 2, '"If" is not understood here'),
        ("NAMES = {'a'}\nfor name in NAMES:\n    print(name)", 2, '"For" is not understood here'),
        ("NAMES = {'a'}\nwith open() as NAMES:\n    pass", 2, '"With" is not understood here'),
        ("NAMES = {'a'}\ndel NAMES", 2, '"Delete" is not understood here'),
        ("NAMES, OTHER = {'a'}, {'b'}", 1, '"Tuple" is not understood here'),
        ("from .gone import NAMES", 1, 'there is not a module "gone"'),
        ("NAMES = {", 1, "not Python: '{' was never closed"),
        ("NAMES = '\0'", 1, None),
    ],
)
def test_what_is_not_understood_is_not_guessed(text: str, line: int, reason: str | None) -> None:
    with pytest.raises(UnknownShapeError) as raised:
        collection(text)
    if reason is not None:
        assert raised.value.reason == reason
    assert raised.value.line == line


def test_only_the_name_in_question_is_unknown() -> None:
    text = "OTHER = {x for x in y}\nNAMES = {'a'}\nBROKEN = {'b'}\nif flag:\n    BROKEN = {'c'}\n"
    assert collection(text) == ("a",)
    for name in ("OTHER", "BROKEN"):
        with pytest.raises(UnknownShapeError):
            collection(text, name)


def test_nothing_runs(tmp_path: Path) -> None:
    target = tmp_path / "ran"
    run = f"__import__('pathlib').Path({str(target)!r}).touch()"
    text = f"{run}\nNAMES = {{'a', *[{run}]}}\n@({run})\ndef f(x={run}): pass\n"
    with pytest.raises(UnknownShapeError):
        collection(text)
    assert not target.exists()


@pytest.mark.parametrize(
    "text",
    [
        "NAMES = {'a'} | NAMES",
        "NAMES = OTHER\nOTHER = NAMES",
        "NAMES = " + "(" * 5000 + "'a'" + ")" * 5000,
        "NAMES = " + "|".join(["{'a'}"] * 5000),
        "NAMES = " + "[" * 90 + "]" * 90,
        "NAMES = [" + ",".join(f"'{number}'" for number in range(MOST_ELEMENTS + 1)) + "]",
        "#" * (LONGEST + 1),
        "\n".join(["A0 = ['a']", *(f"A{n + 1} = A{n}" for n in range(500)), "NAMES = A500"]),
    ],
)
def test_what_is_too_much_is_refused(text: str) -> None:
    with pytest.raises(UnknownShapeError):
        collection(text)


def test_copies_are_counted() -> None:
    many = ",".join(f"'{number}'" for number in range(1000))
    copies = ",".join(["*BASE"] * (MOST_COPIES // 1000 + 2))
    with pytest.raises(UnknownShapeError, match="elements are copied"):
        collection(f"BASE = [{many}]\nNAMES = [{copies}]")


@given(st.text(alphabet="NAMES ={}[]()|+'a,*\n:.for in if\\\"#\0\t", max_size=80))
def test_any_text_has_a_collection_or_a_reason(text: str) -> None:
    with suppress(UnknownShapeError):
        assert isinstance(collection(text), tuple)
