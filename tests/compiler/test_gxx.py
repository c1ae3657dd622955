"""Running a compiler: what it says, what it prints, and what happens where there is none."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from derivlint.compiler import gxx
from derivlint.compiler.gxx import (
    CompilerError,
    Toolchain,
    compile_command,
    find_compiler,
    find_toolchain,
    run,
    torch_includes,
)
from tools.type_relations import run_program


@pytest.fixture
def bare() -> Toolchain:
    """The compiler without the headers of torch."""
    compiler = find_compiler()
    assert compiler is not None
    return Toolchain(compiler, ())


def test_compiler_is_found_by_name_by_path_and_by_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    found = find_compiler("g++")
    assert found is not None
    assert "g++" in found.version
    assert find_compiler() == found
    assert find_compiler(str(found.path)) == found
    monkeypatch.setenv("CXX", str(found.path))
    assert find_compiler() == found


def test_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert find_compiler("no-such-compiler") is None
    with pytest.raises(CompilerError, match='cannot run the compiler "no-such-compiler"'):
        find_toolchain("no-such-compiler")
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert find_compiler() is None
    # an executable that is not a compiler: it does not answer
    dead = tmp_path / "dead"
    dead.write_text("#!/bin/sh\nexit 3\n")
    dead.chmod(0o755)
    assert find_compiler(str(dead)) is None


@pytest.mark.torch
def test_headers_are_those_of_the_installed_torch() -> None:
    includes = torch_includes()
    assert includes is not None
    assert (includes[0] / "ATen" / "ATen.h").is_file()
    assert (includes[1] / "torch" / "torch.h").is_file()
    assert find_toolchain().includes == tuple(includes)


def test_no_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gxx, "find_spec", lambda name: None)
    assert torch_includes() is None
    with pytest.raises(CompilerError, match="torch is not installed"):
        find_toolchain()


def test_messages_are_in_english_whatever_the_locale(
    bare: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    (tmp_path / "unit.cpp").write_text("int x = nothing;\n")
    done = run(compile_command(bare, "-fsyntax-only", "unit.cpp"), tmp_path)
    assert done.status == 1
    assert "unit.cpp:1:9: error: 'nothing' was not declared in this scope" in done.stderr


def test_sources_are_compiled_as_pytorch_is(bare: Toolchain, tmp_path: Path) -> None:
    source = "#include <string>\nstatic_assert(__cplusplus == 202002L && _GLIBCXX_USE_CXX11_ABI);\n"
    (tmp_path / "unit.cpp").write_text(source)
    assert run(compile_command(bare, "-fsyntax-only", "unit.cpp"), tmp_path).status == 0
    (tmp_path / "unit.cpp").write_text("int f(bool b) { return ~b; }\n")
    assert "[-Werror=bool-operation]" in run(compile_command(bare, "-fsyntax-only", "unit.cpp"), tmp_path).stderr


def test_what_a_program_prints(bare: Toolchain) -> None:
    assert run_program(bare, '#include <cstdio>\nint main() { std::puts("a b"); }\n') == "a b\n"


def test_program_may_refer_to_what_no_library_defines(bare: Toolchain) -> None:
    source = (
        '#include <cstdio>\nint elsewhere();\nint unused() { return elsewhere(); }\nint main() { std::puts("a"); }\n'
    )
    assert run_program(bare, source) == "a\n"


def test_program_that_fails(bare: Toolchain) -> None:
    with pytest.raises(CompilerError, match=r"cannot be compiled: program\.cpp:1:21: error: 'x' was not declared"):
        run_program(bare, "int main() { return x; }\n")
    with pytest.raises(CompilerError, match="the program ends with status 3"):
        run_program(bare, "int main() { return 3; }\n")


def test_process_that_cannot_be_started() -> None:
    with pytest.raises(CompilerError, match='cannot run "/no/such/program": No such file or directory'):
        run(["/no/such/program"])


def test_process_that_takes_too_long_is_ended_with_its_children() -> None:
    start = time.monotonic()
    # the child keeps the pipes open: to end its parent alone would be to wait for it
    with pytest.raises(CompilerError, match=r'"/bin/sh" timed out after 0\.2 seconds'):
        run(["/bin/sh", "-c", "sleep 600; true"], timeout=0.2)
    assert time.monotonic() - start < 300
