"""What is known of operators at a release: checks and emission say the same, which is what the generators have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from torchgen.packaged.autograd import gen_inplace_or_view_type, gen_variable_type

from derivlint import operators
from derivlint.analysis.differentiability.coverage import Aspect, coverage_of
from derivlint.analysis.differentiability.operators import Answer, decomposes
from derivlint.emit.inplace_or_view import inplace_or_view_kernels
from derivlint.emit.kernels import kernels
from derivlint.emit.nodes import node_classes
from derivlint.lint import run_rules
from derivlint.model import Model, build_model
from derivlint.operators import Book, book_of, holds_for
from derivlint.operators.book import GENERATORS, bundled_releases
from derivlint.operators.extraction import extract
from derivlint.operators.history import bundled_versions, load_release
from derivlint.operators.records import read_records
from derivlint.operators.sources import installed_source
from derivlint.rules import load_rule
from derivlint.schema import NativeFunction, NativeFunctions, SchemaKind
from derivlint.source import SourceFile
from tests.sampling import sample

RELEASES = tuple(f"{major}.{minor}" for major, minor in bundled_releases())


def records(version: str) -> dict[str, frozenset[str]]:
    """The lists of a release's generators, read from the file of records and from nothing else."""
    text = (Path(operators.__file__).parent / "data" / GENERATORS).read_text()
    major, _, minor = version.partition(".")
    return read_records(text, (int(major), int(minor.partition(".")[0])))


def chosen(natives: NativeFunctions) -> list[NativeFunction]:
    """All functions that return one tensor and take one called self."""
    return [
        function
        for function in natives.functions
        if function.schema.kind is SchemaKind.functional
        and not function.generated
        and [str(item.type) for item in function.schema.returns] == ["Tensor"]
        and any(
            argument.name == "self" and str(argument.type) == "Tensor"
            for argument in function.schema.arguments.flat_all
        )
    ]


def bases(natives: NativeFunctions) -> list[str]:
    """Their base names."""
    return sorted({function.name.base for function in chosen(natives)})


def model_of(natives: NativeFunctions) -> Model:
    """A file with an entry for each of these functions."""
    text = "".join(f"- name: {function.schema}\n  self: grad\n" for function in chosen(natives))
    return build_model(SourceFile("derivatives.yaml", text), natives)


@pytest.fixture(scope="module", params=sample(bundled_versions(), 3, always=("2.1.2", "2.13.0", "2.15.0")))
def model(request: pytest.FixtureRequest) -> Model:
    return model_of(load_release(request.param))


def differentiated(model: Model) -> Iterator[tuple[NativeFunction, str]]:
    """The functions whose kernels set up differentiation, with the kernels' text."""
    text = {str(kernel.function.schema): kernel.text for kernel in kernels(model, bases(model.natives))}
    for function in chosen(model.natives):
        kernel = text.get(str(function.schema), "")
        if "compute_requires_grad" in kernel:
            yield function, kernel


def test_complex_support_is_one_fact(model: Model) -> None:
    """Of the generators' list, what coverage says, what rules judge, and what kernels refuse."""
    listed = records(str(model.natives.version))["complex"]
    coverage = coverage_of(model)
    compared = 0
    for function, kernel in differentiated(model):
        base = function.name.base
        accepted = "throw_error_for_complex_autograd" not in kernel
        answer = coverage.of(function)[0].verdicts[Aspect.COMPLEX].answer
        assert accepted is (base in listed), base
        # an operator with a composite kernel takes complex numbers where that one is used
        refused = Answer.PARTIAL if decomposes(function) else Answer.NO
        assert answer is (Answer.YES if accepted else refused), base
        assert model.book.is_complex_differentiable(function) is accepted, base
        compared += 1
    assert compared > 300


def test_views_are_one_fact(model: Model) -> None:
    """What is a view, what checks take for one, which kernels track it, and which recreate it in every case."""
    lists = records(str(model.natives.version))
    views = lists["view"] | lists["may-return-view"]
    made = {str(kernel.function.schema): kernel.text for kernel in inplace_or_view_kernels(model, bases(model.natives))}
    replayed = 0
    for function in chosen(model.natives):
        is_view = function.name.base in views
        assert model.book.is_view(function) is is_view
        assert model.book.is_called_like_view(function) is is_view
        kernel = made.get(str(function.schema))
        assert kernel is None or is_view, str(function.name)
        # the generator refuses a view of another type whose output is differentiable, which ours is
        is_left_out = function.cpp_name in lists["manual-autograd"] or str(function.name) == "view.dtype"
        if is_view and function.is_abstract and not is_left_out:
            assert kernel is not None, str(function.name)
        if kernel is not None and "_view_func;" in kernel:
            is_always = "needs_replay(" not in kernel
            assert is_always is (function.cpp_name in lists["view-of-other-metadata"]), str(function.name)
            replayed += is_always
    assert replayed > 3


def test_kernels_that_are_written_by_hand_are_one_fact(model: Model) -> None:
    manual = records(str(model.natives.version))["manual-autograd"]
    generated = {kernel.function.cpp_name for kernel in kernels(model)}
    assert len(generated) > 1_000
    assert generated.isdisjoint(manual)
    functions = {each for each in model.natives.functions if model.book.has_manual_kernel(each)}
    assert {each.cpp_name for each in functions} == manual & {each.cpp_name for each in model.natives.functions}


def test_nodes_that_can_be_traced_are_one_fact(model: Model) -> None:
    untraceable = records(str(model.natives.version))["untraceable"]
    found = {each.base: set[str]() for each in node_classes(model)}
    for each in node_classes(model):
        found[each.base].add(each.info.name)
    assert [names <= untraceable for names in found.values()].count(True) == 1
    assert [names.isdisjoint(untraceable) for names in found.values()].count(True) == 1


def test_differentiable_outputs_are_one_fact(model: Model) -> None:
    never = records(str(model.natives.version))["no-derivative"]
    set_up = {str(function.schema) for function, _ in differentiated(model)}
    for entry in model.entries:
        for found in model.differentiabilities(entry):
            if str(found.function.schema) != str(entry.function.schema if entry.function else None):
                continue
            listed = not never.isdisjoint((found.function.name.base, found.function.cpp_name))
            assert found.requires_derivative is not listed
            if found.is_generated:
                assert (str(found.function.schema) in set_up) is found.requires_derivative, str(found.function.name)


def test_the_facts_of_the_installed_release_are_torchgens() -> None:
    book = Book("2.13.0")
    assert book.complex == gen_variable_type.GRADIENT_IMPLEMENTED_FOR_COMPLEX
    views = set(gen_inplace_or_view_type.VIEW_FUNCTIONS) | gen_inplace_or_view_type.RETURNS_VIEWS_OF_INPUT
    natives = load_release()
    for function in natives.functions:
        assert book.is_called_like_view(function) is (function.name.base in views)
    extracted = extract(installed_source().generators).lists
    assert {topic: set(names) for topic, names in extracted.items()} == records("2.13")


def conjugation(version: str, text: str) -> list[str]:
    """What is reported of a factor that is not conjugated."""
    model = build_model(SourceFile("derivatives.yaml", text), load_release(version))
    return [each.message for each in run_rules(model, [load_rule("missing-conjugate")]).diagnostics]


LOGSUMEXP = """\
- name: logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor
  self: grad * (self - result).exp()
"""


@pytest.mark.parametrize(
    ("version", "count"), [("2.1", 0), ("2.3.1", 0), ("2.4", 0), ("2.5", 1), ("2.13", 1), ("2.15", 1)]
)
def test_no_factor_is_to_be_conjugated_where_the_release_refuses_complex_numbers(version: str, count: int) -> None:
    assert len(conjugation(version, LOGSUMEXP)) == count


@pytest.mark.parametrize(("version", "count"), [("2.14.1", 1), ("2.15.0", 1)])
def test_operators_that_are_new_in_a_release_are_judged(version: str, count: int) -> None:
    (function,) = [each for each in load_release(version).named("linalg_matrix_sqrth") if not each.schema.is_out]
    argument = function.schema.arguments.flat_all[0].name
    text = f"- name: {function.schema}\n  {argument}: grad * result\n"
    assert len(conjugation(version, text)) == count


def test_masks_are_real_numbers() -> None:
    """From 2.15 on ``nan_to_num`` takes complex numbers; ``isfinite`` of one is the same around it."""
    text = (
        "- name: nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor\n"
        "  self: grad * at::isfinite(self)\n"
        "  result: auto_element_wise\n"
    )
    model = build_model(SourceFile("derivatives.yaml", text), load_release("2.15"))
    rules = [load_rule("wrong-auto-element-wise"), load_rule("missing-conjugate")]
    assert list(run_rules(model, rules).diagnostics) == []


# ---- which release


@pytest.mark.parametrize(
    ("version", "release", "holds"),
    [
        (None, (2, 13), True), ("2.13.0+cpu", (2, 13), True), ("2.6.1", (2, 6), True), ("v2.4.0", (2, 4), True),
        ("2.5.0a0+git1234", (2, 5), True), ("2.10.0", (2, 10), True), ("2.0.1", (2, 1), False), ("1.13", (2, 1), False),
        ("2.16.0.dev20270101", (2, 15), True), ("3.0", (2, 15), True), ("main", (2, 15), True),
    ],
)  # fmt: skip
def test_a_version_has_the_facts_of_its_release_or_of_the_nearest(
    version: str | None, release: tuple[int, int], holds: bool
) -> None:
    book = Book(version)
    assert (book.release, book.holds) == (release, holds)


def test_own_lists_count_instead_of_the_bundled_ones(bundled_natives: NativeFunctions) -> None:
    own = bundled_natives.with_generator_lists({"complex": ["relu"]})
    relu, mul = (bundled_natives.with_base(name)[0] for name in ("relu", "mul"))
    assert [book_of(own).is_complex_differentiable(each) for each in (relu, mul)] == [True, False]
    assert [book_of(bundled_natives).is_complex_differentiable(each) for each in (relu, mul)] == [False, True]
    assert book_of(own) is book_of(own)
    # a list that could not be read is that of the release
    assert book_of(own).names("view") == book_of(bundled_natives).names("view")


def test_the_facts_hold_for_operators_of_known_releases(bundled_natives: NativeFunctions) -> None:
    def natives(version: str | None, keep: float = 1.0) -> NativeFunctions:
        written = bundled_natives.written
        return NativeFunctions(written[: int(len(written) * keep)], version=version)

    assert holds_for(bundled_natives)
    assert holds_for(natives("2.2.0"))
    assert not holds_for(natives("1.12.0"))
    assert holds_for(natives(None))
    # most operators that came with PyTorch 1.12 to 2.1 are not there
    assert not holds_for(natives(None, keep=0.05))
    # 2.1 may be only the bundled release that such a file fits best
    assert not holds_for(natives("2.1.2", keep=0.05))


@pytest.mark.parametrize(("version", "keep"), [("1.6.0a0", 1.0), (None, 0.05)])
def test_a_list_that_an_old_generator_lacks_is_not_that_of_a_later_release(
    bundled_natives: NativeFunctions, version: str | None, keep: float
) -> None:
    written = bundled_natives.written[: int(len(bundled_natives.written) * keep)]
    for lists, holds in (({"no-derivative": ["ones_like"]}, False), ({"complex": ["add"]}, True)):
        assert holds_for(NativeFunctions(written, version=version, generator_lists=lists)) is holds


def test_entries_are_those_of_the_release() -> None:
    for version in bundled_versions():
        natives = load_release(version)
        assert natives.derivatives is not None
        with_entry = {str(each.name) for each in natives.functions if book_of(natives).has_entry(each)}
        assert with_entry <= natives.derivatives.keys()
        assert len(with_entry) >= len(natives.derivatives) - 1
