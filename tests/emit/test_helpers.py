"""Hidden helpers: reading symbols of ELF files, stubs that jump to them, and which helpers formulas need."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from mmap import ACCESS_READ, mmap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derivlint.compiler.gxx import find_compiler
from derivlint.emit.helpers import ElfError, ElfFile, machine_of, stubs_source, unresolved
from derivlint.emit.helpers.elf import EM_AARCH64, EM_X86_64, LibrarySymbol
from derivlint.emit.helpers.stubs import MANGLED, base_name
from derivlint.model import build_model, called_functions
from derivlint.operators.special import WRAP_OPT_IF
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads ELF libraries, which only Linux builds here")

#: A library that exports one function, hides another, and has two static ones of the same name.
LIBRARY = """
namespace at {
__attribute__((visibility("default"))) int shown(int x) { return x + 1; }
__attribute__((visibility("hidden"), noinline)) int hidden(int x) { return shown(x) * 10; }
__attribute__((visibility("hidden"))) int data = 3;
}
extern "C" __attribute__((visibility("default"))) int use(int x) { return at::hidden(x) + at::data; }
"""
USER = """
namespace at { int shown(int); int hidden(int); }
extern "C" __attribute__((visibility("default"))) int twice(int x) { return at::hidden(x) + at::shown(x); }
"""


def compiled(folder: Path, name: str, text: str, *options: str) -> Path:
    compiler = find_compiler()
    assert compiler is not None
    (folder / f"{name}.cpp").write_text(text)
    target = folder / (f"lib{name}.so" if "-shared" in options else f"{name}.o")
    command = [str(compiler.path), "-O1", "-fPIC", *options, str(folder / f"{name}.cpp"), "-o", str(target)]
    subprocess.run(command, check=True, capture_output=True)
    return target


def torch_cpu() -> Path:
    spec = find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "lib" / "libtorch_cpu.so"


@needs_linux
def test_symbols_of_a_library_are_distinguished(tmp_path: Path) -> None:
    """Exported names are those a linker finds; hidden functions are found with address, size and code."""
    path = compiled(tmp_path, "some", LIBRARY, "-shared")
    with ElfFile(path) as file:
        assert file.exported() >= {"_ZN2at5shownEi", "use"}
        assert "_ZN2at6hiddenEi" not in file.exported()
        found = file.symbols(["_ZN2at6hiddenEi", "_ZN2at4dataE", "_ZN2at6absentEi"])
    # what is absent is not invented
    assert found.keys() == {"_ZN2at6hiddenEi", "_ZN2at4dataE"}
    data = found["_ZN2at4dataE"]
    assert (data.size, data.is_function) == (4, False)
    function = found["_ZN2at6hiddenEi"]
    assert function.address > 0
    assert function.code == path.read_bytes()[function.address :][: len(function.code)]


@needs_linux
def test_a_name_of_several_functions_is_refused(tmp_path: Path) -> None:
    """Static functions of two sources may have one name; then no one knows which is meant."""
    text = "namespace at {{ __attribute__((noinline)) static int twin(int x) {{ return x + {0}; }} }}\n"
    text += 'extern "C" int use{0}(int x) {{ return at::twin(x); }}\n'
    first = compiled(tmp_path, "first", text.format(1), "-c")
    second = compiled(tmp_path, "second", text.format(2), "-c")
    compiler = find_compiler()
    assert compiler is not None
    target = tmp_path / "libtwins.so"
    subprocess.run([str(compiler.path), "-shared", str(first), str(second), "-o", str(target)], check=True)
    with ElfFile(target) as file:
        assert file.symbols(["_ZN2atL4twinEi"]) == {}
        assert list(file.symbols(["use1"])) == ["use1"]


@needs_linux
def test_what_objects_need_and_libraries_hide(tmp_path: Path) -> None:
    """Only what no library exports is looked for among the hidden ones."""
    library = compiled(tmp_path, "some", LIBRARY, "-shared")
    objects = [compiled(tmp_path, "user", USER, "-c")]
    found = unresolved(objects, [library], library)
    assert ([function.name for function in found.symbols], found.missing) == (["_ZN2at6hiddenEi"], ())
    stripped = tmp_path / "libstripped.so"
    subprocess.run(["strip", "-o", str(stripped), str(library)], check=True)
    found = unresolved(objects, [library], stripped)
    assert (found.symbols, found.missing) == ((), ("_ZN2at6hiddenEi",))


@pytest.mark.parametrize(("machine", "jump"), [(EM_X86_64, "jmp *.Lslot1(%rip)"), (EM_AARCH64, "br x16")])
def test_stubs_have_the_names_of_the_functions(machine: int, jump: str) -> None:
    """Each stub is a hidden symbol, and the table has one row for each, in the same order."""
    functions = [
        LibrarySymbol("_ZN2at1aEv", 0x1000, 32, b"\x01" * 16),
        LibrarySymbol("_ZN2at1bEv", 0x2000, 2, b"\x02\x03"),
    ]
    text = stubs_source(functions, machine, "libsome.so")
    assert jump in text
    assert text.count(".hidden _ZN2at1") == 2
    assert "  .quad 0x1000, 32, 16, .Lslot0\n  .byte " + ", ".join(["0x01"] * 16) in text
    assert "  .quad 0x2000, 2, 2, .Lslot1\n  .byte 0x02, 0x03" + ", 0x00" * 14 in text
    assert text.index('.asciz "_ZN2at1aEv"') < text.index('.asciz "_ZN2at1bEv"')


def test_the_stub_of_a_variable_is_a_copy() -> None:
    """It has the variable's size, and its row in the table has no code."""
    text = stubs_source([LibrarySymbol("_ZN2at1cE", 0x3000, 8, b"")], EM_X86_64, "libsome.so")
    assert "_ZN2at1cE:\n.Lslot0:\n  .skip 8\n" in text
    assert "  .quad 0x3000, 8, 0, .Lslot0\n" in text
    assert "jmp" not in text


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"no ELF file at all" * 8, b"\x7fELF\x01\x01" + b"\0" * 100])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    """A file that is not a 64-bit ELF file is an error that names it."""
    path = tmp_path / "file.so"
    path.write_bytes(content)
    with pytest.raises(ElfError, match=r"file\.so"):
        ElfFile(path)


@given(st.data())
def test_a_damaged_file_is_an_error_and_no_crash(data: st.DataObject) -> None:
    """Whatever the header says, nothing outside of the file is read."""
    content = bytearray(b"\x7fELF\x02\x01\x01" + b"\0" * 9)
    content += data.draw(st.binary(min_size=48, max_size=400))
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "damaged.so"
        path.write_bytes(content)
        try:
            with ElfFile(path) as file:
                file.undefined()
                file.exported()
                file.symbols(["_ZN2at1aEv"])
        except ElfError:
            pass


def test_base_names_of_mangled_helpers() -> None:
    """The length in front of a name says where it ends; a template's arguments may follow."""
    assert base_name(f"{MANGLED}9mm_helperERKN2at6TensorE") == "mm_helper"
    assert base_name(f"{MANGLED}19mul_tensor_backwardIN3c106ScalarEEEN2at6TensorE") == "mul_tensor_backward"
    assert base_name(f"{MANGLED}L1aE") is None
    assert base_name("_ZN2at3addE") is None


def test_the_wheel_offers_what_formulas_call(derivatives_path: Path, bundled_natives: NativeFunctions) -> None:
    """Every helper that the formulas of the release call is exported or hidden in its library."""
    library = torch_cpu()
    model = build_model(SourceFile.read(derivatives_path), bundled_natives)
    assert bundled_natives.declarations is not None
    declared = set(bundled_natives.declarations["functions"]["torch::autograd::generated::details"])
    called = {name for name, _ in called_functions(model.source)} & declared - {WRAP_OPT_IF}
    assert len(called) > 150
    with library.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        mangled = {match[0].decode() for match in re.finditer(MANGLED.encode() + rb"\w+", data)}
    assert called <= {base_name(name) for name in mangled}
    assert machine_of(library) in (EM_X86_64, EM_AARCH64)
