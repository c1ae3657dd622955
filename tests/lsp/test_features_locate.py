"""What is at a place: in plain, quoted, escaped, folded and block scalars, and around them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derivlint.formula import walk
from derivlint.lsp.features.locate import (
    AtDispatchKey,
    AtEntry,
    AtEntryKey,
    AtFormula,
    AtKey,
    AtKeyword,
    AtSchema,
    AtSuppression,
    decoded_index,
    locate,
)
from tests.lsp.feature_analysis import MUL, SORT, analysis_of, at

NAME = "- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n"


@pytest.mark.parametrize(
    "value",
    [
        "grad * other.conj()", "'grad * other.conj()'", '"grad * other.conj()"', '"grad \\x2a other.conj()"',
        "grad\n    * other.conj()", '"grad *\n    other.conj()"', '"grad * \\\n    other.conj()"',
        "|\n    grad *\n    other.conj()", ">-\n    grad *\n\n    other.conj()",
    ],
)  # fmt: skip
def test_a_word_of_a_formula_is_found_at_each_of_its_characters_in_every_style(value: str) -> None:
    analysis = analysis_of(f"{NAME}  self: {value}\n")
    text = analysis.source.text
    start = text.rindex("other")
    for offset in range(start, start + len("other") + 1):
        found = locate(analysis, offset)
        assert isinstance(found, AtFormula)
        assert found.word is not None
        assert (found.word.text, analysis.source.slice(found.span)) == ("other", "other")
    found = locate(analysis, text.index("conj") + 1)
    assert isinstance(found, AtFormula)
    assert [type(node).__name__ for node in found.path] == ["Binary", "Call", "Member"]


def test_an_operator_is_the_innermost_node_that_holds_it() -> None:
    analysis, offset = at(f"{NAME}  self: (grad * other) + self\n", "other) §+ self")
    found = locate(analysis, offset)
    assert isinstance(found, AtFormula)
    assert found.word is None
    assert analysis.source.slice(found.span) == "(grad * other) + self"


@pytest.mark.parametrize(
    ("place", "kind", "span"),
    [
        ("§- name: mul", AtEntryKey, "name"),
        ("- na§me: mul", AtEntryKey, "name"),
        ("mul.Te§nsor(", AtSchema, "mul.Tensor"),
        ("Tensor se§lf, ", AtSchema, "self"),
        ("self, Ten§sor other", AtSchema, "other"),
        ("-> Ten§sor", AtSchema, "Tensor"),
        ("\n  sel§f: mul", AtKey, "self"),
        ("other: mul_ten§sor", AtFormula, "mul_tensor_backward"),
    ],
)
def test_parts_of_an_entry_are_distinguished(place: str, kind: type[object], span: str) -> None:
    analysis, offset = at(MUL, place)
    if place.startswith("§"):
        # the dash belongs to no key
        assert isinstance(locate(analysis, offset), AtEntry | None)
        return
    found = locate(analysis, offset)
    assert isinstance(found, kind)
    assert found is not None
    assert analysis.source.slice(found.span) == span


def test_each_name_of_a_key_has_its_place() -> None:
    text = f'{NAME}  "self, other": std::tuple<Tensor, Tensor>()\n'
    analysis, offset = at(text, '"self, oth§er"')
    found = locate(analysis, offset)
    assert isinstance(found, AtKey)
    assert found.name is not None
    assert (found.name.text, analysis.source.slice(found.span)) == ("other", "other")


def test_two_equal_returns_are_distinguished() -> None:
    arguments = "Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps"
    text = f"- name: native_layer_norm({arguments}) -> (Tensor, Tensor, Tensor)\n  input: grad\n"
    analysis, offset = at(text, "(Tensor, Ten§sor, Tensor)")
    found = locate(analysis, offset)
    assert isinstance(found, AtSchema)
    assert found.schema is not None
    assert found.part is found.schema.returns[1]
    assert found.span.start == text.index("Tensor, Tensor, Tensor)") + len("Tensor, ")


def test_dispatch_keys_words_and_flags_have_places_of_their_own() -> None:
    text = (
        f"{NAME}  output_differentiability: [True]\n  dispatch:\n    Default:\n      self: grad\n"
        "      result: auto_linear\n"
    )
    for place, kind in (
        ("    Def§ault:", AtDispatchKey),
        ("  disp§atch:", AtEntryKey),
        ("output_differen§tiability", AtEntryKey),
        ("[Tr§ue]", AtEntry),
        ("      se§lf: grad", AtKey),
        ("auto_§linear", AtKeyword),
    ):
        assert isinstance(locate(*at(text, place)), kind), place


def test_a_rule_in_a_suppression_is_found() -> None:
    text = "# derivlint: ignore[unused-entry, other-rule] why\n" + MUL
    analysis, offset = at(text, "other-§rule")
    found = locate(analysis, offset)
    assert isinstance(found, AtSuppression)
    assert found.name is not None
    assert found.name.text == "other-rule"
    found = locate(analysis, text.index("why"))
    assert isinstance(found, AtSuppression)
    assert found.name is None


def test_between_entries_there_is_nothing() -> None:
    text = f"{MUL}\n# comment\n\n{SORT}"
    analysis = analysis_of(text)
    assert locate(analysis, text.index("# comment") + 4) is None


def test_a_formula_with_an_error_keeps_its_words() -> None:
    analysis, offset = at(f"{NAME}  self: grad * other *\n", "* oth§er")
    found = locate(analysis, offset)
    assert isinstance(found, AtFormula)
    assert found.path == ()
    assert found.word is not None
    assert found.word.text == "other"


@given(st.lists(st.sampled_from(["grad", "é", "😀", "\\n", "\\u00e9", "\n     ", " ", "x"]), min_size=1, max_size=12))
def test_decoding_a_place_inverts_the_map_of_the_scalar(pieces: list[str]) -> None:
    analysis = analysis_of(f'{NAME}  self: "a{"".join(pieces)}b"\n')
    entry = analysis.model.all_entries[0]
    value = entry.formulas[0].value
    from derivlint.yaml_reader import Scalar

    assert isinstance(value, Scalar)
    if value.exact:
        starts = [entry.start + value.offset(index) for index in range(len(value.value))]
        for index, offset in enumerate(starts):
            found = decoded_index(entry, value, offset)
            assert found is not None
            # characters that one escape or line end stands for share a place
            assert starts[found] == offset
            assert found >= index


def test_every_node_of_a_formula_is_on_the_path_of_its_first_character() -> None:
    analysis = analysis_of(MUL)
    for formula in analysis.model.all_entries[0].formulas:
        assert formula.parsed.tree is not None
        for node in walk(formula.parsed.tree):
            found = locate(analysis, formula.range(node.start, node.end).start)
            assert isinstance(found, AtFormula)
            # of two nodes that touch, the one that begins there
            assert found.path[-1].start == node.start or node in found.path
