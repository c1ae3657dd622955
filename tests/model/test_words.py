"""The textual reading of names, compared with torchgen's own regular expressions."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from torchgen.packaged.autograd.load_derivatives import used_gradient_indices
from torchgen.utils import IDENT_REGEX

from derivlint.formula import parse_formula
from derivlint.model.generated.gradients import adjacent_indices
from derivlint.model.words import (
    mentions,
    occurrences,
    replace_in_words,
    replaced_occurrences,
    substitute,
    variable_uses,
)

#: Texts in which the names of the tests occur next to everything that may stand beside a name.
texts = st.lists(
    st.sampled_from(
        ["self", "grad", "grads", "myself", "self_p", "x", ".", "->", "::", "*", " * ", "(", ")", ",", ", ", " ", "[0]"]
    ),
    max_size=14,
).map("".join)


@given(texts)
def test_mentions_is_torchgens_search(text: str) -> None:
    assert mentions(parse_formula(text), "self") == bool(re.search(IDENT_REGEX.format("self"), text))


@given(texts)
def test_replaced_occurrences_are_torchgens_matches(text: str) -> None:
    """The places are those of ``re.finditer``, which takes one character on both sides of a name."""
    expected = [match.end(1) for match in re.finditer(IDENT_REGEX.format("self"), text)]
    assert [word.start for word in replaced_occurrences(parse_formula(text), "self")] == expected


@given(texts)
def test_substitute_is_torchgens_sub(text: str) -> None:
    expected = re.sub(IDENT_REGEX.format("self"), lambda m: f"{m.group(1)}self_p{m.group(2)}", text)
    assert substitute(text, {"self": "self_p"}).text == expected


@given(texts)
def test_substituting_several_names_at_once_is_substituting_one_after_the_other(text: str) -> None:
    """What torchgen does to the forward formula of an in-place function, and which words are left."""
    expected = text
    for name, new in (("self_p", "original_self_p"), ("grad", "self_t.conj()"), ("self", "self_p")):
        expected = re.sub(IDENT_REGEX.format(name), rf"\g<1>{new}\g<2>", expected)
    result = substitute(text, {"self_p": "original_self_p", "grad": "self_t.conj()", "self": "self_p"})
    assert result.text == expected
    assert result.words == {word.text for word in parse_formula(expected).words}


@given(texts)
def test_replacing_in_words_is_replacing_text(text: str) -> None:
    assert replace_in_words(text, "grad", "grads[i]") == text.replace("grad", "grads[i]")


def test_of_two_uses_with_one_character_between_only_the_first_is_replaced() -> None:
    assert substitute("self*self", {"self": "self_p"}).text == "self_p*self"
    assert substitute("self * self", {"self": "self_p"}).text == "self_p * self_p"


def test_a_use_of_the_variable_is_neither_member_nor_part_of_a_name_nor_text() -> None:
    formula = parse_formula('real(x.real, at::real(y), "real") + real')
    assert [word.role for word in occurrences(formula, "real")] == [
        "callee",
        "member",
        "qualified",
        "string",
        "variable",
    ]
    assert [(word.start, word.role) for word in variable_uses(formula, "real")] == [(0, "callee"), (36, "variable")]


def test_used_gradient_indices_of_torchgen_are_seen() -> None:
    """The literal indices that torchgen counts are those that the tree gives."""
    for text in ("f(grads[0], grads[12])", "grads[ 1 ]", "x.grads[3] + grads[i]", "f(grads,grads[0])", "xgrads[2]"):
        assert adjacent_indices(parse_formula(text)) == used_gradient_indices(text)
