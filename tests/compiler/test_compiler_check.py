"""Asking a compiler about formulas: where they are, what it refuses, and that formulas are data."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derivlint.compiler.diagnostics import CompilerRefusal, refusals
from derivlint.compiler.gxx import Compiler, CompilerError, Toolchain, find_toolchain
from derivlint.compiler.unit import is_confined, source_of
from derivlint.formula import parse_formula
from derivlint.model import build_model
from derivlint.model.generated.evaluation import Evaluation, Mode, Origin, evaluations
from derivlint.schema import NativeFunctions, load_index
from derivlint.source import SourceFile

#: Operators with the schema (Tensor self) -> Tensor, one for each formula of a file.
OPERATORS = tuple(
    re.findall(
        r"\w+",
        "abs acos acosh angle asin asinh atan atanh ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor "
        "frac lgamma log log10 log1p log2 neg",
    )
)

RIGHT = "grad * self.sgn()"
#: Formulas that C++ refuses, with the word that the compiler names; None where it names what is around the formula.
WRONG: dict[str, str | None] = {
    "grad * nothing": "nothing",
    "grad.sum({1,\n  nothing})": "nothing",
    'not_implemented("\N{LATIN SMALL LETTER E WITH ACUTE}") * self.foo': "foo",
    "grad * C10_LIKELY(grad.nothing())": "nothing",
    "1.5": None,
    "own_backward(grad, self)": "self",
    "grad * at::abs": "*",
    # a template that cannot be instantiated is reported where it is used first
    "std::get<7>(std::tuple<Tensor, Tensor>())": "(",
    "std::get<7>(std::tuple<Tensor, Tensor>()) ": "(",
    # the compiler loses count of the braces
    "at::zeros({0 1.5}, self.options())": "1.5",
    "[&]() { return at::zeros({0 1.5}, self.options()); }()": "1.5",
}
#: Texts that must not reach a compiler.
UNCONFINED = (
    'maybe_multiply(grad, _Pragma("GCC poison copy_range"))', '__pragma("x") grad', "grad\n#error no\n",
    "grad\n%: error no\n", "#include </dev/zero>", "grad) ; (grad", "grad; } void f() { grad",
    "grad %> void f() <% grad", "self[1:>[0]", "((grad)", "grad /* open", 'grad + "open', 'grad + R"x(")")x"',
    "grad // \\", "grad // \\  \n", "grad \\", 'not_implemented("\ud800")',
)  # fmt: skip
CONFINED = (
    RIGHT, *WRONG, "grad // a comment", "grad /* # */", 'not_implemented("#error") * grad',
    'not_implemented("%:") * grad', 'not_implemented("_Pragma") * grad', 'not_implemented("a\\"b")',
    "std::vector<::std::string>()", "[&](Tensor x) { if (true) { return x; } return x; }(grad)", "not an expression",
    "",
)  # fmt: skip


def natives() -> NativeFunctions:
    return load_index()


def backward_formulas(formulas: list[str]) -> list[Evaluation]:
    """The evaluations of formulas, each the one for ``self`` of an operator of its own."""
    assert len(formulas) <= len(OPERATORS)
    loaded = natives()
    found = []
    for operator, formula in zip(OPERATORS, formulas, strict=False):
        # quoted as YAML wants it, whatever is in it
        quoted = "".join(char if char.isalnum() and char.isascii() else f"\\U{ord(char):08X}" for char in formula)
        text = f'- name: {operator}(Tensor self) -> Tensor\n  self: "{quoted}"\n'
        model = build_model(SourceFile("d.yaml", text), loaded)
        for entry in model.entries:
            found += [
                each
                for each in evaluations(entry, model.differentiabilities(entry))
                if each.origin is Origin.YAML and each.mode is Mode.BACKWARD
            ]
    assert [each.written.text for each in found] == formulas
    return found


@pytest.fixture(scope="module")
def toolchain(precompiled_headers: None) -> Toolchain:
    return find_toolchain()


def test_only_confined_texts_are_compiled() -> None:
    assert [text for text in UNCONFINED if is_confined(text)] == []
    assert [text for text in CONFINED if not is_confined(text)] == []


FRAGMENT = st.sampled_from(["grad", "//", "/*", "*/", "R", "u8", *" (){}[]<>:%#?;\"'\\\n"])


@given(st.lists(FRAGMENT, max_size=12).map("".join))
def test_confined_text_has_no_directive_and_no_bracket_of_its_surroundings(text: str) -> None:
    """What is left of a confined text without comments and literals closes only what it opens."""
    if not is_confined(text):
        return
    code = re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'", " ", text, flags=re.DOTALL)
    assert "#" not in code
    for digraph in ("%:", "<%", "%>", ":>"):
        assert digraph not in code
    stack: list[str] = []
    for char in code:
        if char in "([{":
            stack.append({"(": ")", "[": "]", "{": "}"}[char])
        elif char in ")]}":
            assert stack
            assert stack.pop() == char
    assert stack == []


@given(st.text(st.sampled_from("ab( ){}[]<>:%#?;\"'\\\n/*."), max_size=30))
def test_what_parses_is_confined_unless_a_preprocessor_reads_it_otherwise(text: str) -> None:
    formula = parse_formula(text)
    if formula.tree is None or formula.problems:
        return
    assert is_confined(text) or "\\" in text or re.search(r"%:|<%|%>|:>|<:", text)


def test_each_formula_stands_in_a_function_of_its_own_on_lines_of_its_own() -> None:
    first, second = backward_formulas([RIGHT, "grad.sum({1,\n  2})"])
    source = source_of([(3, first), (5, second)], backward=True)
    assert f'\n#line 1 "formula_3"\n{RIGHT}\n#line 1 "consumer_3"\n' in source
    assert '\n#line 1 "formula_5"\ngrad.sum({1,\n  2})\n#line 1 "consumer_5"\n' in source
    assert source.count("static void") == 2
    assert "any_grad_defined ? (" in source


def test_texts_that_are_not_confined_are_left_out() -> None:
    some = [text for text in UNCONFINED if "\ud800" not in text]
    found = backward_formulas([RIGHT, *some])
    everything = source_of(enumerate(found), backward=True)
    assert everything == source_of(enumerate(found[:1]), backward=True)


def test_headers_of_the_user_come_after_those_of_pytorch() -> None:
    (evaluation,) = backward_formulas([RIGHT])
    source = source_of([(0, evaluation)], backward=True, includes=["/own/helpers.h"])
    assert source.index("<torch/csrc/autograd/FunctionsManual.h>") < source.index('#include "/own/helpers.h"')
    assert source.index('#include "/own/helpers.h"') < source.index("namespace torch")


def test_functions_manual_of_the_user_stands_in_place_of_pytorchs() -> None:
    """Both would declare the same helpers, with the same default arguments."""
    (evaluation,) = backward_formulas([RIGHT])
    path = "/checkout/torch/csrc/autograd/FunctionsManual.h"
    for backward in (True, False):
        source = source_of([(0, evaluation)], backward=backward, includes=[path])
        assert re.findall(r"#include .*FunctionsManual.*", source) == [f'#include "{path}"']


@pytest.mark.parametrize("name", ['/a"b.h', "/a\nb.h"])
def test_header_that_cpp_cannot_name(name: str) -> None:
    with pytest.raises(CompilerError, match="no C\\+\\+ can include a header of this name"):
        source_of([], backward=True, includes=[name])


#: A helper of the user, who may leave it to others to include what it needs.
OWN = "at::Tensor own_backward(const at::Tensor& grad, double x);"


@pytest.fixture(scope="module")
def refused(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> dict[str, CompilerRefusal]:
    """What the compiler rejects of wrong and right formulas in turn, by the formula."""
    own = tmp_path_factory.mktemp("headers") / "own.h"
    own.write_text(f"namespace torch::autograd::generated::details {{\n{OWN}\n}}\n")
    right = [RIGHT, "own_backward(grad, 2)"]
    turns = [text for number, wrong in enumerate(WRONG) for text in (wrong, right[number % 2])]
    asked = backward_formulas(turns)
    said: list[str] = []
    found = refusals(toolchain, asked, includes=[own], progress=said.append)
    assert [re.sub(r"with .*", "", text) for text in said] == [f"compiling {len(asked)} expressions "]
    return {item.evaluation.written.text or "": item for item in found}


def test_wrong_formulas_are_refused_and_no_others(refused: dict[str, CompilerRefusal]) -> None:
    """Also where the compiler loses its way in a formula before; helpers of the user are known."""
    assert list(refused) == list(WRONG)


def test_refusals_name_the_place_in_the_formula(refused: dict[str, CompilerRefusal]) -> None:
    for text, word in WRONG.items():
        offset = refused[text].offset
        if word is None:
            assert offset is None, text
        else:
            assert offset is not None, text
            assert text[offset:].startswith(word), (text, offset)


def test_refusals_have_the_first_message_of_the_compiler(refused: dict[str, CompilerRefusal]) -> None:
    assert refused["grad * nothing"].message == "'nothing' was not declared in this scope"
    assert refused["1.5"].message == "operands to '?:' have different types 'double' and 'at::Tensor'"
    message = refused["std::get<7>(std::tuple<Tensor, Tensor>())"].message
    assert message == "static assertion failed: tuple index must be in range"


@pytest.fixture
def pretended(tmp_path: Path) -> Callable[[str], Toolchain]:
    """Makes a compiler that only says something."""

    def make(script: str) -> Toolchain:
        path = tmp_path / "compiler"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return Toolchain(Compiler(path, "pretended"), ())

    return make


def test_no_formulas_need_no_compiler(pretended: Callable[[str], Toolchain]) -> None:
    assert refusals(pretended("exit 3"), []) == []


def test_compiler_that_does_not_work_is_no_verdict(pretended: Callable[[str], Toolchain]) -> None:
    asked = backward_formulas([RIGHT])
    with pytest.raises(CompilerError):
        refusals(pretended("exit 3"), asked)
    with pytest.raises(CompilerError, match=r"ATen/ATen\.h: No such file"):
        refusals(pretended('echo "unit.cpp:1:10: fatal error: ATen/ATen.h: No such file" >&2; exit 1'), asked)
    with pytest.raises(CompilerError, match='cannot run "/no/such/compiler"'):
        refusals(Toolchain(Compiler(Path("/no/such/compiler"), ""), ()), asked)


def test_warnings_are_no_errors(pretended: Callable[[str], Toolchain]) -> None:
    script = 'echo "formula_0:1:1: warning: narrowing conversion" >&2; exit 0'
    assert refusals(pretended(script), backward_formulas([RIGHT])) == []


def test_broken_header_is_no_fault_of_the_formulas(toolchain: Toolchain, tmp_path: Path) -> None:
    """Of PyTorch's headers, which come before, it needs no more than that they are there."""
    evaluations = backward_formulas(["own_backward(grad)"])
    for name in re.findall(r"#include <(.*)>", source_of([(0, evaluations[0])], backward=True)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "own.h").write_text("int broken(;\nTensr own_backward(Tensr grad);\n")
    with pytest.raises(CompilerError, match=r"the headers do not compile: .*/own\.h:1:12: error: expected"):
        refusals(Toolchain(toolchain.compiler, (tmp_path,)), evaluations, includes=[tmp_path / "own.h"])


@pytest.mark.parametrize(
    ("messages", "rounds"),
    [
        ("formula_0:1:1: error: no", 1),
        # the compiler does not instantiate the same template for the other formula
        ("formula_0:1:1:   required from here\n/x.h:1:1: error: no", 2),
    ],
)
def test_formulas_are_compiled_again_where_a_template_broke(
    pretended: Callable[[str], Toolchain], tmp_path: Path, messages: str, rounds: int
) -> None:
    asked = backward_formulas(["grad * 2", RIGHT])
    (tmp_path / "messages").write_text(messages + "\n")
    calls = tmp_path / "calls"
    # what is refused once is not in the next unit
    script = f"echo >> {calls}; if grep -q formula_0 unit.cpp; then cat {tmp_path}/messages >&2; exit 1; fi"
    assert [item.evaluation for item in refusals(pretended(script), asked)] == asked[:1]
    assert len(calls.read_text().splitlines()) == rounds
