"""What emission cannot do is refused by name and at once; what it writes can be imported, built and loaded."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from derivlint.cli.main import cli
from derivlint.emit.emission import EmissionMode, emission
from derivlint.emit.files import write_files
from derivlint.emit.manifest import MANIFEST, manifest_text
from derivlint.emit.python.module import refusal
from derivlint.emit.release import version_warning
from derivlint.model import build_model
from derivlint.runtime import BuildError, LoadError, ManifestError, build, load, read_manifest
from derivlint.runtime.syntax import syntax_errors
from derivlint.schema import NativeFunctions, available_versions, installed_torch, read_native_functions
from derivlint.source import SourceFile
from tests import warm
from tests.running import runner

pytestmark = pytest.mark.long

SIN = "- name: sin(Tensor self) -> Tensor\n  self: grad * self.cos().conj()\n  result: auto_element_wise\n"
#: Schemas with whether torch.library takes them; the rest of an operator's name.
SCHEMAS = {
    "a(Tensor self) -> Tensor": True,
    "b(Tensor self, Tensor? bias=None, float alpha=1.0) -> Tensor": True,
    "c(Tensor self, Scalar s=1.5, int[2] d=1, bool b=True, float f=1e-5) -> (Tensor, Tensor)": True,
    "d(Tensor self, *, ScalarType? dtype=None, Generator? generator=None) -> Tensor": True,
    "e.over(Tensor self, str s, Layout l, MemoryFormat? m=None, SymInt n=0) -> Tensor": True,
    "f(Tensor self, Storage s, Stream t, QScheme q, Scalar[] z) -> Tensor": True,
    "inplace_(Tensor(a!) self) -> Tensor(a!)": True,
    "keyword(Tensor self, *, Tensor y) -> Tensor": True,
    "keyword_optional(Tensor self, *, Tensor? y=None) -> Tensor": True,
    "list(Tensor[] xs) -> Tensor": True,
    "optional_list(Tensor self, Tensor?[] xs) -> Tensor": True,
    "returned(Tensor self) -> Tensor[]": True,
    "named(Tensor self, Dimname d) -> Tensor": False,
    "dims(Tensor self, DimVector d) -> Tensor": False,
    "custom(Tensor self, __torch__.torch.classes.mine.Mine m) -> Tensor": False,
    "unknown(Tensor self, Mine m) -> Tensor": False,
    "nested(Tensor self, int[3][] m) -> Tensor": False,
    "infinite(Tensor self, float m=inf) -> Tensor": False,
    "order(Tensor self, int a=1, Tensor y) -> Tensor": False,
    "word(Tensor self, Tensor class) -> Tensor": False,
    "import(Tensor self) -> Tensor": False,
    "a.default(Tensor self) -> Tensor": False,
}
#: What torch.library takes although no Function can be its kernel.
BEYOND_FUNCTIONS = (
    "view(Tensor(a) self) -> Tensor(a)",
    "views(Tensor(a -> *) self, int d) -> Tensor(a)[]",
    "mutable(Tensor(a!) self, Tensor y) -> Tensor",
    "nothing(Tensor self) -> ()",
    "out.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
    "foreach_(Tensor(a!)[] self) -> ()",
)


def natives_of(*schemas: str, namespace: str = "refused") -> NativeFunctions:
    text = "".join(
        f"- func: {namespace}::{schema}\n  dispatch:\n    CompositeExplicitAutograd: mine\n" for schema in schemas
    )
    return read_native_functions([SourceFile("native.yaml", text)])


def child(program: str, *arguments: str) -> str:
    """Run a program in a process that has imported PyTorch, and may import what lies in the folder."""
    return warm.run(warm.text, f"import sys; sys.path.insert(0, '')\n{program}", *arguments)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "derivatives.yaml").write_text(SIN)
    return tmp_path


def run(*arguments: str) -> tuple[int, str]:
    done = runner().invoke(cli, arguments)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stderr


# ---- torch.library


def test_what_is_refused_is_what_torch_library_refuses() -> None:
    """Each schema is defined and given an autograd kernel by the installed torch."""
    program = """
import json, sys, torch
libraries = []
for schema in json.loads(sys.argv[1]):
    name, _, rest = schema.partition("(")
    try:
        torch.library.define(f"refused::{name}", f"({rest}")
        libraries.append(torch.library.Library("refused", "FRAGMENT"))
        libraries[-1].impl(name, lambda *args: args, "Autograd")
        print("taken")
    except Exception as error:
        print(type(error).__name__)
"""
    said = child(program, json.dumps([*SCHEMAS, *BEYOND_FUNCTIONS])).split()
    assert [word == "taken" for word in said] == [*SCHEMAS.values(), *(True for _ in BEYOND_FUNCTIONS)]
    for schema, is_taken in SCHEMAS.items():
        for function in natives_of(schema).written:
            reason = refusal(function)
            assert (reason is None) is is_taken, (schema, reason)
    assert [schema for schema in BEYOND_FUNCTIONS if refusal(natives_of(schema).written[0]) is None] == []
    assert refusal(natives_of("a(Tensor self) -> Tensor", namespace="prim").written[0]) is not None
    assert refusal(natives_of("a(Tensor self) -> Tensor", namespace="aten").written[0]) is not None


def custom(here: Path, *schemas: str) -> tuple[str, ...]:
    """Arguments for a file with an entry for each schema."""
    native = "".join(
        f"- func: refused::{schema}\n  dispatch:\n    CompositeExplicitAutograd: mine\n" for schema in schemas
    )
    (here / "native.yaml").write_text(native)
    (here / "derivatives.yaml").write_text("".join(f"- name: {schema}\n  self: grad\n" for schema in schemas))
    return ("--torch", "2.13.0", "--native-functions", "native.yaml", "--allow-errors")


VIEW = "view_of_it(Tensor(a) self) -> Tensor(a)"
FUNCTION = "function_of_it(Tensor self, Tensor? bias=None) -> Tensor"


def test_operators_that_cannot_be_registered_are_named(here: Path) -> None:
    """The others are written, into a module that can be imported."""
    arguments = ("emit", "python", "--register", "--out", "made.py", *custom(here, VIEW, FUNCTION))
    status, reported = run(*arguments)
    assert (status, reported) == (
        0,
        "derivlint: view_of_it is omitted: it returns a view of an argument: return a copy, or "
        "call an operator of PyTorch that returns the view\n",
    )
    assert "class FunctionOfIt" in (here / "made.py").read_text()
    child("import made")
    # less than was asked for by name is not a success
    assert run(*arguments, "--ops", "view_of_it,function_of_it")[0] == 1
    (here / "made.py").unlink()
    status, reported = run(*arguments, "--ops", "view_of_it")
    assert (status, reported) == (
        2,
        "derivlint: view_of_it cannot be emitted: it returns a view of an argument: return a copy, or "
        "call an operator of PyTorch that returns the view\n",
    )
    assert not (here / "made.py").exists()


def test_names_that_a_module_needs_itself_are_left_to_it(here: Path) -> None:
    """An operator may be called as what its module imports: nothing of that is hidden."""
    names = ("f", "any", "number", "sequence", "tensor", "torch", "math", "aten", "F", "once_differentiable", "list")
    arguments = custom(here, *(f"{name}(Tensor self) -> Tensor" for name in names))
    status, reported = run("emit", "python", "--register", "--out", "made.py", *arguments)
    assert status == 0
    # one name in Python for two operators
    assert reported == 'derivlint: F is omitted: another entry is called "F_" in Python already\n'
    child("import made; made.f, made.torch_, made.list_, made.Tensor_; made.torch.ones(1); made.F.define")


def test_operators_of_pytorch_are_not_registered(here: Path) -> None:
    status, reported = run("emit", "python", "--register", "--out", "made.py", "--ops", "sin")
    assert status == 2
    assert 'sin cannot be emitted: it is in the namespace "aten"' in reported


def test_a_registered_operator_is_differentiable_or_says_so(here: Path) -> None:
    """An omitted argument has no gradient, one without a formula raises; a tangent without one is refused."""
    status, reported = run("emit", "python", "--register", "--out", "made.py", *custom(here, FUNCTION))
    assert (status, reported) == (0, "")
    program = """
import torch, made
import torch.autograd.forward_ad as forward
@torch.library.impl("refused::function_of_it", "CompositeExplicitAutograd")
def kernel(self, bias=None):
    return self * 1 if bias is None else self + bias
x = torch.ones(2, requires_grad=True)
for call in (made.function_of_it, torch.ops.refused.function_of_it):
    call(x).sum().backward()
    call(x, None).sum().backward()
    call(x, x.detach()).sum().backward()
print(x.grad.tolist())
for call in (made.function_of_it, torch.ops.refused.function_of_it):
    try:
        call(x, x).sum().backward()
    except NotImplementedError as error:
        print(error)
with forward.dual_level():
    dual = forward.make_dual(torch.ones(2), torch.ones(2))
    for call in (made.function_of_it, torch.ops.refused.function_of_it):
        for arguments in ((dual,), (torch.ones(2), dual)):
            try:
                print(forward.unpack_dual(call(*arguments)))
            except NotImplementedError:
                print("refused")
"""
    gradient, *missing, _, _, _, _ = lines = child(program).splitlines()
    refused = lines[-4:]
    assert gradient == "[6.0, 6.0]"
    assert missing == ["the derivative for 'function_of_it: bias' is not implemented."] * 2
    assert refused == ["refused"] * 4


# ---- namespaces


def test_cpp_of_another_namespace_is_for_extensions(here: Path) -> None:
    """A build of PyTorch refuses all such operators by name; PyTorch's own are still written."""
    arguments = ("emit", "cpp", "--out", "ext", *custom(here, VIEW, FUNCTION))
    with (here / "derivatives.yaml").open("a") as stream:
        stream.write(SIN)
    message = (
        'derivlint: no C++ is emitted for "refused::function_of_it", "refused::view_of_it": a build of PyTorch has '
        'operators of the namespace "aten" only; leave them out with --ops\n'
    )
    in_tree = (*arguments, "--mode", "in-tree")
    assert run(*in_tree) == (2, message)
    status, reported = run(*in_tree, "--ops", "sin,view_of_it")
    assert (status, '"refused::view_of_it"' in reported, "function_of_it" in reported) == (2, True, False)
    assert not (here / "ext").exists()
    assert run(*in_tree, "--ops", "sin")[0] == 0
    assert run("emit", "cpp", "--out", "own", *arguments[4:])[0] == 0


def test_cpp_of_a_namespace_that_cannot_be_in_cpp_is_refused(here: Path) -> None:
    custom(here, FUNCTION)
    native = here / "native.yaml"
    native.write_text(native.read_text().replace("refused::", "std::"))
    arguments = (
        "emit", "cpp", "--out", "ext", "--torch", "2.13.0", "--native-functions", "native.yaml", "--allow-errors",
    )  # fmt: skip
    message = (
        'derivlint: no C++ is emitted for "std::function_of_it": "std" is a namespace of C++ that is PyTorch\'s own; '
        "leave them out with --ops\n"
    )
    assert run(*arguments) == (2, message)


def test_an_operator_without_entry_is_not_emitted_as_nothing(here: Path) -> None:
    for arguments in (("cpp", "--out", "ext"), ("python", "--out", "made.py")):
        status, reported = run("emit", *arguments, "--ops", "sin,tan")
        assert (status, reported) == (2, 'derivlint: no code for "tan": no entry applies to this operator\n')
    assert sorted(path.name for path in here.iterdir()) == ["derivatives.yaml"]


# ---- releases


def extension(folder: Path, natives: NativeFunctions, version: str | None) -> Path:
    """An extension for a release."""
    operators = NativeFunctions(
        natives.written, version=version, autograd_keys=natives.autograd_keys, known_tags=natives.known_tags
    )
    model = build_model(SourceFile("derivatives.yaml", SIN), operators)
    write_files(folder, emission(model, ("sin",), "mine", mode=EmissionMode.EXTENSION).files)
    return folder


@pytest.fixture(scope="module")
def release() -> str:
    """The installed release."""
    found = installed_torch()
    assert found is not None
    assert found.release is not None
    return found.release


@pytest.mark.parametrize("version", ["2.6.0", "2.12.1", "2.99.0"])
def test_an_extension_for_another_release_is_neither_built_nor_loaded(
    tmp_path: Path, bundled_natives: NativeFunctions, release: str, version: str
) -> None:
    """Both sides are named, and the compiler is not asked."""
    folder = extension(tmp_path / "ext", bundled_natives, version)
    said: list[str] = []
    for attempt, error in (
        (lambda: load(folder, progress=said.append), LoadError),
        (lambda: build(folder, progress=said.append), BuildError),
        (lambda: syntax_errors(folder, progress=said.append), BuildError),
    ):
        with pytest.raises(error, match=f"was emitted for PyTorch {version}, and PyTorch {release}"):
            attempt()
    assert said == []
    assert not (folder / "build").exists()


def test_the_sources_refuse_the_headers_of_another_release(
    tmp_path: Path, bundled_natives: NativeFunctions, release: str
) -> None:
    """Also where no one asked derivlint before they are compiled."""
    folder = extension(tmp_path / "ext", bundled_natives, "2.6.0")
    header = (folder / "nodes.h").read_text()
    # what comes before any other header of PyTorch
    (folder / "check.cpp").write_text(header.partition("#include <array>")[0])
    (folder / "loader.cpp").unlink()
    for path in folder.glob("*_0.cpp"):
        path.unlink()
    (folder / MANIFEST).unlink()
    (refused,) = syntax_errors(folder)
    assert "this was emitted for PyTorch 2.6 and is compiled with the headers of PyTorch" in refused.output
    own = extension(tmp_path / "own", bundled_natives, release)
    (own / "check.cpp").write_text((own / "nodes.h").read_text().partition("#include <array>")[0])
    for name in ("loader.cpp", "nodes_0.cpp", "kernels_0.cpp", "python_nodes_0.cpp"):
        (own / name).unlink()
    assert syntax_errors(own) == []


@pytest.mark.skipif(shutil.which("cmake") is None, reason="no CMake")
def test_cmake_refuses_another_release(tmp_path: Path, bundled_natives: NativeFunctions, release: str) -> None:
    """When it is configured, before anything is compiled."""
    text = (extension(tmp_path / "ext", bundled_natives, "2.6.0") / "CMakeLists.txt").read_text()
    start = text.index("if(NOT ")
    check = text[start : text.index("endif()", start)] + "endif()\n"
    for version, is_refused in (("2.6.1", False), ("2.6", False), (release, True), ("2.60.0", True), ("", True)):
        script = tmp_path / "check.cmake"
        script.write_text(f'set(Torch_VERSION "{version}")\n{check}')
        done = subprocess.run(["cmake", "-P", str(script)], capture_output=True, text=True, check=False)
        assert (done.returncode != 0) is is_refused, (version, done.stderr)
        if is_refused:
            assert "emitted for PyTorch 2.6, and CMake found" in " ".join(done.stderr.split())


def test_where_no_release_is_named_code_is_for_the_newest_bundled_one(
    tmp_path: Path, bundled_natives: NativeFunctions
) -> None:
    folder = extension(tmp_path / "ext", bundled_natives, None)
    major, minor = available_versions()[-1].split(".")[:2]
    guard = f"static_assert(\n    TORCH_VERSION_MAJOR == {major} && TORCH_VERSION_MINOR == {minor},"
    assert guard in (folder / "nodes.h").read_text()
    assert f"emitted for PyTorch {major}.{minor}, and CMake found" in (folder / "CMakeLists.txt").read_text()


@pytest.mark.parametrize(
    ("version", "doubt"),
    [
        (None, None),
        ("2.1.0", None),
        ("2.14.1", None),
        (
            "2.15.0a0+git1",
            "PyTorch 2.15.0a0+git1 is newer than 2.14, the newest release whose C++ API is known: the code is written "
            "for the API of 2.14",
        ),
        (
            "3.0.0",
            "PyTorch 3.0.0 is newer than 2.14, the newest release whose C++ API is known: the code is written for the "
            "API of 2.14",
        ),
        ("main", '"main" is not a version of PyTorch: the code is written for the C++ API of PyTorch 2.14'),
    ],
)
def test_a_release_that_is_not_known_is_named(version: str | None, doubt: str | None) -> None:
    assert version_warning(version) == doubt


# ---- manifests that are built from


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pending": {}}, "was not written to the end"), ({"files": "nodes.h"}, "is damaged"),
        ({"files": [1]}, "is damaged"), ({"files": ["-fplugin=mine.cpp"]}, "is damaged"),
        ({"files": ["a\nb.cpp"]}, "is damaged"), ({"files": ["../nodes.cpp"]}, "names files outside"),
        ({"files": ["/nodes.cpp"]}, "names files outside"), ({"namespace": 1}, "is damaged"),
        ({"operators": []}, "is damaged"), ({"operators": {"sin": 1}}, "is damaged"),
        ({"left_out": {"sin": None}}, "is damaged"), ({"mode": "in-tree"}, "as an extension"),
        ({"format": 2}, "is not of format 1"),
    ],
)  # fmt: skip
def test_a_damaged_manifest_is_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    content = {"mode": "extension", "namespace": "mine", "operators": {"sin": None}, "left_out": {}}
    (tmp_path / MANIFEST).write_text(json.dumps(json.loads(manifest_text(content, {"nodes.h": ""})) | change))
    with pytest.raises(ManifestError, match=message):
        read_manifest(tmp_path)


@pytest.mark.parametrize("data", [b"[" * 100_000, b"", b"\xff", b"NaN", b"1" * 100_000])
def test_a_manifest_that_is_not_json_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / MANIFEST).write_bytes(data)
    with pytest.raises(ManifestError):
        read_manifest(tmp_path)


def test_a_build_folder_of_others_is_refused(tmp_path: Path, bundled_natives: NativeFunctions, release: str) -> None:
    """What lies there could be anybody's library."""
    folder = extension(tmp_path / "ext", bundled_natives, release)
    (folder / "build").mkdir()
    (folder / "build").chmod(0o777)
    with pytest.raises(BuildError, match="nothing is built or loaded here: others can write to"):
        build(folder)


#: How code is made of a file with one operator.
COMMANDS = {
    "emit python": "emit python --ops sin --force --no-config --out {0}/out.py {0}/derivatives.yaml",
    "emit cpp": "emit cpp --ops sin --force --no-config --out {0}/out {0}/derivatives.yaml",
    "show": "show sin --no-config {0}/derivatives.yaml",
    "derive": "derive sin(x) --wrt x --no-config {0}/derivatives.yaml",
}
#: Formulas that nothing is known about, and numbers that Python does not have: octal ones would be others, and the
#: digits of one are limited.
UNREADABLE = {
    "brackets": (f"grad * {'(' * 300}self{')' * 300}", "nested more than 120 levels deep"),
    "tokens": ("grad" + " + grad" * 4000, "8,001 tokens, more than 5,000"),
    "characters": ("grad * 1" + "0" * 65_000, "65,008 characters, more than 50,000"),
    "an open bracket": ("grad * (self", '"(" is never closed'),
    "many digits": ("grad * 1" + "0" * 40_000, 'number "1000'),
    "above 64 bits": (f"grad * {2**64}", f'number "{2**64}'),
    "octal": ("grad * 017", 'number "017'),
    "a fraction": ("grad * 0x1.8p1", 'number "0x1.8p1'),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", UNREADABLE)
def test_no_code_is_made_of_a_formula_that_cannot_be_read(tmp_path: Path, name: str, command: str) -> None:
    formula, reason = UNREADABLE[name]
    if reason.startswith("number") and command in ("emit cpp", "show"):
        return
    file = tmp_path / "derivatives.yaml"
    file.write_text(f"- name: sin(Tensor self) -> Tensor\n  self: '{formula}'\n")
    done = runner().invoke(cli, COMMANDS[command].format(tmp_path).split())
    assert done.exit_code == 2
    assert "sin" in done.stderr
    assert reason in done.stderr
    assert "internal error" not in done.stderr
    assert len(done.stderr) < (500 if reason.startswith("number") else 2_000)
    assert list(tmp_path.iterdir()) == [file]


def test_the_other_operators_are_emitted_beside_one_that_cannot_be_read(tmp_path: Path) -> None:
    file = tmp_path / "derivatives.yaml"
    file.write_text(f"{SIN}- name: cos(Tensor self) -> Tensor\n  self: grad * (self\n")
    arguments = ["emit", "cpp", "--allow-errors", "--no-config", "--out", str(tmp_path / "out"), str(file)]
    done = runner().invoke(cli, arguments)
    assert done.exit_code == 0
    assert 'cos is omitted: the formula in line 5 cannot be read: "(" is never closed' in done.stderr
    manifest = json.loads((tmp_path / "out" / MANIFEST).read_text())
    assert "sin" in manifest["operators"]
    assert "cos" not in manifest["operators"]
