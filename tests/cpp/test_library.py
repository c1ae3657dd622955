"""The shipped declarations are those of the stubs and of the installed torch, and name lookup finds them."""

from __future__ import annotations

import pytest

from derivlint.cpp.cpp_type import cpp_type
from derivlint.cpp.declarations.header import read_declarations
from derivlint.cpp.library import Library, library_of, load_stubs, render_library
from derivlint.cpp.lookup import EntityKind, look_up
from derivlint.cpp.scope import BACKWARD_LEVELS, FORWARD_LEVELS, Scope
from derivlint.schema import NativeFunctions, installed_torch, load_index
from tools.library_sources import STUBS, read_library


@pytest.fixture(scope="module")
def library() -> Library:
    return library_of(load_index())


def test_the_shipped_library_is_that_of_the_installed_torch(installed_natives: NativeFunctions) -> None:
    torch = installed_torch()
    assert torch is not None
    assert torch.functions_manual is not None
    made = read_library(torch.functions_manual.parents[3], installed_natives)
    assert render_library(made) == render_library(load_stubs())


@pytest.mark.parametrize("path", sorted(STUBS.glob("*.h")), ids=lambda path: path.name)
def test_stubs_are_read_without_problems(path: object) -> None:
    assert hasattr(path, "read_text")
    reading = read_declarations(path.read_text())
    assert reading.problems == ()
    assert reading.declarations.opaque == {}


def test_every_helper_of_the_release_is_declared(library: Library) -> None:
    found = library.functions("torch::autograd::generated::details", "norm_backward")
    assert [function.signature for function in found.functions] == [
        "Tensor norm_backward(Tensor grad, Tensor self, optional<Scalar> p_, Tensor norm)",
        "Tensor norm_backward(Tensor grad, Tensor self, optional<Scalar> p_, Tensor norm, ArrayRef<int64_t> dim, "
        "bool keepdim)",
    ]
    assert found.complete


@pytest.mark.parametrize(
    ("name", "backward", "forward"),
    [
        ("maybe_multiply", EntityKind.FUNCTION, EntityKind.FUNCTION),
        ("scalar_tensor", EntityKind.NOTHING, EntityKind.FUNCTION),
        ("sqrt", EntityKind.FUNCTION, EntityKind.FUNCTION),
        ("M_PI", EntityKind.VARIABLE, EntityKind.VARIABLE),
        ("Tensor", EntityKind.TYPE, EntityKind.TYPE),
        ("complex", EntityKind.NOTHING, EntityKind.AMBIGUOUS),
        ("no_such_name", EntityKind.NOTHING, EntityKind.NOTHING),
    ],
)
def test_bare_names_are_sought_as_the_generated_files_make_them_visible(
    library: Library, name: str, backward: EntityKind, forward: EntityKind
) -> None:
    assert look_up(library, Scope({}, BACKWARD_LEVELS, "backward formula"), name).kind is backward
    assert look_up(library, Scope({}, FORWARD_LEVELS, "forward formula"), name).kind is forward


def test_members_of_templates_have_the_types_of_their_arguments(library: Library) -> None:
    found = library.methods(cpp_type("vector<SymInt>"), "back")
    assert found is not None
    assert [function.result for function in found.functions] == [cpp_type("SymInt&")]
    assert library.methods(cpp_type("vector<SymInt>"), "conj") is not None
    assert library.methods(cpp_type("vendor::Thing"), "anything") is None


def test_without_headers_helpers_are_unknown(installed_natives: NativeFunctions) -> None:
    assert not library_of(installed_natives).has_headers
    assert not library_of(installed_natives).functions("torch::autograd::generated::details", "norm_backward").exists
