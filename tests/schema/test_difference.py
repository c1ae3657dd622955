"""What is reported of a schema that is not the declared one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derivlint.schema import NativeFunctions, parse_schema
from derivlint.schema.difference import DifferenceKind, SchemaDifference, differences, nearest, replacement

ADD = "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
MAX = "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"
NEG_ = "neg_(Tensor(a!) self) -> Tensor(a!)"


def compare(text: str, declared: str) -> list[tuple[str, str, str | None, str | None]]:
    """Kind, marked text, written and expected of every difference."""
    found = differences(parse_schema(text), parse_schema(declared))
    return [(item.kind.value, text[slice(*item.span)], item.written, item.expected) for item in found]


@pytest.mark.parametrize(
    ("text", "declared", "expected"),
    [
        ("ad.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", ADD, ("operator", "ad", "ad", "add")),
        (
            "add.Tensr(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
            ADD,
            ("overload", "Tensr", "Tensr", "Tensor"),
        ),
        ("add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", ADD, ("overload", "add", None, "Tensor")),
        (
            "max.dim(Tensor self, int dim) -> (Tensor values, Tensor indices)",
            MAX,
            ("argument missing", ")", None, "bool keepdim=False"),
        ),
        (
            "max.dim(Tensor self, bool keepdim=False) -> (Tensor values, Tensor indices)",
            MAX,
            ("argument missing", "bool keepdim=False", None, "int dim"),
        ),
        (
            "add.Tensor(Tensor self, Tensor other) -> Tensor",
            ADD,
            ("argument missing", ")", None, "*, Scalar alpha=1"),
        ),
        ("neg_() -> Tensor(a!)", NEG_, ("argument missing", "()", None, "Tensor(a!) self")),
        (
            "add.Tensor(Tensor self, int dim, Tensor other, *, Scalar alpha=1) -> Tensor",
            ADD,
            ("argument extra", "int dim", "int dim", None),
        ),
        (
            "add.Tensor(Tensor self, Tensor othr, *, Scalar alpha=1) -> Tensor",
            ADD,
            ("argument name", "othr", "othr", "other"),
        ),
        (
            "max.dim(Tensor self, SymInt dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
            MAX,
            ("argument type", "SymInt", "SymInt", "int"),
        ),
        (
            "neg_(Tensor self) -> Tensor(a!)",
            NEG_,
            ("argument annotation", "Tensor", "Tensor", "Tensor(a!)"),
        ),
        (
            "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=2) -> Tensor",
            ADD,
            ("argument default", "2", "2", "1"),
        ),
        (
            "add.Tensor(Tensor self, Tensor other, *, Scalar alpha) -> Tensor",
            ADD,
            ("argument default", "alpha", None, "1"),
        ),
        (
            "add.Tensor(Tensor other, Tensor self, *, Scalar alpha=1) -> Tensor",
            ADD,
            ("argument order", "Tensor other, Tensor self", "other, self", "self, other"),
        ),
        (
            "add.Tensor(Tensor self, Tensor other, Scalar alpha=1) -> Tensor",
            ADD,
            ("keyword only", "Scalar alpha=1", "positional", "keyword-only"),
        ),
        (
            "add.Tensor(Tensor self, *, Tensor other, Scalar alpha=1) -> Tensor",
            ADD,
            ("keyword only", "Tensor other", "keyword-only", "positional"),
        ),
        (
            "max.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
            MAX,
            ("return count", "Tensor", "Tensor", "(Tensor values, Tensor indices)"),
        ),
        ("neg_(Tensor(a!) self) -> ()", NEG_, ("return count", "()", "()", "Tensor(a!)")),
        (
            "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, int indices)",
            MAX,
            ("return type", "int", "int", "Tensor"),
        ),
        ("neg_(Tensor(a!) self) -> Tensor", NEG_, ("return annotation", "Tensor", "Tensor", "Tensor(a!)")),
        (
            "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indexes)",
            MAX,
            ("return name", "indexes", "indexes", "indices"),
        ),
        (
            "add.Tensor(Tensor self,Tensor other, *, Scalar alpha=1) -> Tensor",
            ADD,
            ("formatting", "self,Tensor", "self,Tensor", "self, Tensor"),
        ),
        (
            "add.Tensor(Tensor self, Tensor  other, *, Scalar alpha=1) -> Tensor",
            ADD,
            ("formatting", "Tensor  other,", "Tensor  other,", "Tensor other,"),
        ),
        (
            "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> (Tensor)",
            ADD,
            ("formatting", "(Tensor)", "(Tensor)", "Tensor"),
        ),
    ],
)
def test_one_difference_is_reported_exactly(
    text: str, declared: str, expected: tuple[str, str, str | None, str]
) -> None:
    assert compare(text, declared) == [expected]


def test_the_declared_text_itself_has_no_difference() -> None:
    assert differences(parse_schema(MAX), parse_schema(MAX)) == ()


def test_several_differences_come_in_the_order_of_the_text() -> None:
    text = "max.dim(Tensor input, SymInt dim, bool keepdim=True) -> (Tensor value, Tensor indices)"
    assert [(kind, shown) for kind, shown, _, _ in compare(text, MAX)] == [
        ("argument name", "input"),
        ("argument type", "SymInt"),
        ("argument default", "True"),
        ("return name", "value"),
    ]


def test_the_whole_declared_argument_is_at_hand() -> None:
    own = parse_schema("max.dim(Tensor self, bool keepdim=False) -> (Tensor values, Tensor indices)")
    (found,) = differences(own, parse_schema(MAX))
    assert found == SchemaDifference(
        DifferenceKind.ARGUMENT_MISSING,
        found.span,
        None,
        "int dim",
        name="dim",
        before="bool keepdim=False",
        context="int dim",
    )


def test_counts_of_returns() -> None:
    (found,) = differences(parse_schema("neg_(Tensor(a!) self) -> ()"), parse_schema(NEG_))
    assert found.counts == (0, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("add.Tensor(Tensor self, Scalar other) -> Tensor", "add.Tensor"),
        ("add(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", "add.Scalar"),
        ("add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", "add.Tensor"),
        ("max.dims(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", "max.dim"),
    ],
)
def test_nearest_takes_the_full_name_first_then_the_fewest_differences(
    text: str, expected: str, bundled_natives: NativeFunctions
) -> None:
    own = parse_schema(text)
    found = nearest(own, bundled_natives.named(own.name.name_without_overload))
    assert found is not None
    assert str(found.name) == expected


def test_nearest_of_nothing_is_none() -> None:
    assert nearest(parse_schema(ADD), ()) is None


TEXTS = st.text(alphabet="ab, (", max_size=12)


@given(TEXTS, TEXTS)
def test_a_replacement_makes_the_expected_text(text: str, expected: str) -> None:
    span, inserted = replacement(text, expected)
    assert text[: span.start] + inserted + text[span.end :] == expected


@given(TEXTS, TEXTS)
def test_a_replacement_begins_and_ends_with_a_difference(text: str, expected: str) -> None:
    span, inserted = replacement(text, expected)
    removed = text[span.start : span.end]
    if removed and inserted:
        assert removed[0] != inserted[0]
        assert removed[-1] != inserted[-1]


@given(data=st.data())
def test_spans_lie_in_the_text_and_show_what_is_written(data: st.DataObject, bundled_natives: NativeFunctions) -> None:
    """Any two functions of PyTorch can be compared; a difference shows the written part, if there is one."""
    functions = bundled_natives.written
    own = data.draw(st.sampled_from(functions)).schema
    declared = data.draw(st.sampled_from(functions)).schema
    found = differences(own, declared)
    assert (own.canonical == declared.canonical) == (found == ())
    for item in found:
        assert 0 <= item.span.start <= item.span.end <= len(own.text)
        verbatim = item.kind not in (DifferenceKind.KEYWORD_ONLY, DifferenceKind.ARGUMENT_ORDER)
        if item.written is not None and verbatim:
            assert own.text[slice(*item.span)] == item.written
