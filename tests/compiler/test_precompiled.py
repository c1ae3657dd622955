"""Precompiled headers: made once, made again where they are damaged, and done without where they do not compile."""

from __future__ import annotations

from pathlib import Path

import pytest

from derivlint.compiler.gxx import CompilerError, Toolchain, find_compiler, run
from derivlint.compiler.precompiled import MAX_FOLDERS, precompiled_header

COMPILERS = [name for name in ("clang++", "g++") if find_compiler(name) is not None]
pytestmark = pytest.mark.skipif(not COMPILERS, reason="there is no C++ compiler")
HEADER = "#pragma once\ntemplate <class T> T twice(T number) { return number + number; }\n"


@pytest.fixture(params=COMPILERS)
def toolchain(request: pytest.FixtureRequest, tmp_path: Path) -> Toolchain:
    """A compiler with the headers and the library of a PyTorch that has nothing in them."""
    compiler = find_compiler(request.param)
    assert compiler is not None
    include = tmp_path / "torch" / "include"
    include.mkdir(parents=True)
    (tmp_path / "torch" / "lib").mkdir()
    (tmp_path / "torch" / "lib" / "libtorch_cpu.so").touch()
    return Toolchain(compiler, (include,))


def test_a_unit_begins_with_the_header(toolchain: Toolchain, tmp_path: Path) -> None:
    """The second call does nothing; a header that was cut off is made again."""
    said: list[str] = []
    place = tmp_path / "headers"

    def options() -> tuple[str, ...]:
        said.clear()
        return precompiled_header(place, toolchain, HEADER, ["-O0"], said.append)

    first = options()
    assert (len(first), len(said)) == (2, 2)
    assert said[0] == "precompiling PyTorch's headers, once for this PyTorch and compiler"
    (tmp_path / "unit.cpp").write_text("int four() { return twice(2); }\n")
    # by itself the unit does not compile
    command = [str(toolchain.compiler.path), "-std=c++20", "-O0", "-c", "unit.cpp"]
    assert run(command, tmp_path).status != 0
    command[1:1] = ["-DNDEBUG", "-D_GLIBCXX_USE_CXX11_ABI=1", *first]
    assert run(command, tmp_path).status == 0
    assert (options(), said) == (first, [])
    (made,) = [path for path in place.rglob("*") if path.suffix in (".gch", ".pch")]
    assert made.stat().st_mode & 0o777 == 0o600
    made.write_bytes(made.read_bytes()[:100])
    assert (options(), len(said)) == (first, 2)
    assert made.stat().st_size > 100


def test_a_header_that_does_not_compile_is_not_tried_again(toolchain: Toolchain, tmp_path: Path) -> None:
    """Units are compiled without it."""
    said: list[str] = []
    place = tmp_path / "headers"
    assert precompiled_header(place, toolchain, "int twice(\n", ["-O0"], said.append) == ()
    assert said[-1] == "the headers cannot be precompiled; compiling without precompiled headers"
    assert precompiled_header(place, toolchain, "int twice(\n", ["-O0"], said.append) == ()
    assert len(said) == 2
    assert [path for path in place.rglob("*") if path.suffix in (".gch", ".pch", ".new")] == []


def test_what_an_interrupt_ended_is_tried_again(
    toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the compiler's own refusal is remembered."""
    place = tmp_path / "headers"

    def interrupted(*arguments: object, **options: object) -> None:
        raise CompilerError("interrupted")

    with monkeypatch.context() as patch:
        patch.setattr("derivlint.compiler.precompiled.run", interrupted)
        assert precompiled_header(place, toolchain, HEADER, ["-O0"]) == ()
    assert precompiled_header(place, toolchain, HEADER, ["-O0"]) != ()


def test_only_the_headers_used_last_are_kept(toolchain: Toolchain, tmp_path: Path) -> None:
    """Each takes hundreds of megabytes for PyTorch."""
    place = tmp_path / "headers"
    for number in range(MAX_FOLDERS + 2):
        assert precompiled_header(place, toolchain, f"{HEADER}// {number}\n", ["-O0"])
    assert len([*place.iterdir()]) == MAX_FOLDERS
