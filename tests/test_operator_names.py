"""Facts about operators and helpers by name are in the operator book: other code does not contain their names.

A string counts if it is the name of an operator or helper in a bundled release, is split into words that contain one,
or consists mostly of such names. Documentation and cases of rules do not count, nor does the name in
``builder.call("mul", ...)``, which adds a call to a graph.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from derivlint.cpp.library import HELPERS
from derivlint.operators.history import bundled_versions, load_release

REPOSITORY = Path(__file__).resolve().parent.parent
SOURCES = REPOSITORY / "src" / "derivlint"
#: The suffixes of other forms of an operator: in-place, symbolic sizes, out arguments.
ENDINGS = ("_", "_symint", "_out")

#: Names of operators that have other meanings, with the meaning.
WORDS = {
    "English": """
        alias all and any complex data empty equal fix index minimum mode negative nonzero or random range select set
        xor""",
    "roles, degrees and parities of values": "gradient linear real zero",
    "parts of formats, of Python and of C++": "dot std t _backward _values",
    "tags": "view_copy",
    "names of arguments": "ccol_indices col_indices crow_indices dim index indices pin_memory row_indices",
    "what a tensor says of itself": """
        dense_dim dim get_device is_complex is_conj is_contiguous is_floating_point is_neg is_same_size item numel
        requires_grad size sparse_dim storage_offset stride sym_numel sym_size sym_storage_offset sym_stride
        _nested_tensor_size _nested_tensor_strides""",
}
#: All names of a file or folder.
ALL = ""
PRIMITIVES = "implements primitives for one interpreter: under the name of each is its code"
#: The exceptions by file: names and reason.
EXCEPTIONS = {
    "src/derivlint/functional": (ALL, PRIMITIVES),
    "src/derivlint/analysis/scalar_evaluation": (ALL, PRIMITIVES),
    "src/derivlint/analysis/small_tensors": (ALL, PRIMITIVES),
    "src/derivlint/graph/built_in_helpers.py": (ALL, PRIMITIVES),
    "src/derivlint/graph/numbers.py": (ALL, PRIMITIVES),
    "src/derivlint/graph/lowering.py": (
        "conj contiguous log mH mT resolve_conj sqrt to wrap_opt_if _is_zerotensor",
        PRIMITIVES,
    ),
    "src/derivlint/graph/builder.py": (
        "add bitwise_and bitwise_or bitwise_xor div eq ge gt le logical_and logical_or lt mul ne sub",
        "the operators that the symbols of C++ stand for",
    ),
    "src/derivlint/authoring/cxx.py": (
        "mul neg pow rsub zeros_like",
        "the operators that have signs in C++, or that have no effect",
    ),
    "src/derivlint/formats/suggestions.py": ("values", "a word of JSON"),
    "src/derivlint/authoring/shapes.py": (
        "add clone div expand mul neg where zeros_like",
        "operators that give back an operand where the other one is zero, or its sizes are those asked for",
    ),
    "src/derivlint/repair/linearization.py": (ALL, PRIMITIVES),
    "src/derivlint/repair/derivation.py": (
        "conj contiguous full handle_r_to_c imag masked_fill to where zeros_like",
        "primitives that keep each element where it is",
    ),
    "src/derivlint/review/page.py": ("diff values", "words of formats: keys of JSON, a language of Markdown"),
    "src/derivlint/graph/differentiation/refusal.py": ("sort", "a method of TorchScript's lists"),
    "src/derivlint/emit/python/spelling.py": (
        ALL,
        "what functions, methods and operators of C++ are called in Python",
    ),
    "src/derivlint/emit/python/expression.py": ("conj to", "methods of numbers in C++"),
    "src/derivlint/formula/python": ("slice", "a part of Python's syntax"),
    "src/derivlint/analysis/python": ("slice", "a part of Python's syntax"),
    "src/derivlint/analysis/python/notations.py": ("expand", "the method whose second size C++ takes for a flag"),
    "src/derivlint/emit/kernels/body.py": ("view", "a topic of the operator book"),
    "src/derivlint/cpp/expressions/calls.py": ("pow to", "functions and methods of C++ for numbers"),
    "src/derivlint/lint/shared/typed_edits.py": ("conj", "what fixes write, and take away"),
    "src/derivlint/model/generated/saved.py": ("zeros_like", "an expression that torchgen saves instead of a tensor"),
    "src/derivlint/schema": (
        "add bernoulli bernoulli.p div inverse lshift mul polygamma_ pow resize_ resize_as_ rshift scatter set_ sub",
        "torchgen's own conventions of names and its special cases, on a floor below the book",
    ),
    "src/derivlint/analysis/dependence/arguments.py": ("logsumexp", "the name of an argument"),
    "src/derivlint/analysis/dependence/conjugation.py": ("adjoint", "the name of an argument"),
    "src/derivlint/cli/verification/verify_page.py": ("diff", "the language of a block of code"),
    "src/derivlint/verify/inputs/arguments.py": ("diagonal", "names of arguments"),
    "src/derivlint/verify/inputs/domains.py": ("abs mean", "names of arguments"),
    "src/derivlint/verify/inputs/hardening.py": ("narrow zeros", "labels of inputs"),
}


@cache
def names() -> frozenset[str]:
    """The names of all bundled operators and helpers, in every form."""
    found: set[str] = set()
    for version in bundled_versions():
        natives = load_release(version)
        for function in natives.functions:
            name = function.name
            found |= {name.base, name.name_without_overload, str(name), function.cpp_name}
        assert natives.declarations is not None
        found |= natives.declarations["functions"][HELPERS].keys()
    return frozenset(found)


def named(text: str) -> bool:
    """Whether a text is the name of an operator or helper."""
    return not names().isdisjoint({text, *(text.removesuffix(ending) for ending in ENDINGS)})


def literals(tree: ast.Module) -> Iterator[str]:
    """The strings of a module other than documentation, cases, and calls in a graph."""
    aside = {id(node) for each in (documentation(tree), cases(tree), calls(tree)) for node in each}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            strings: list[ast.expr] = []
            if isinstance(function, ast.Attribute) and function.attr == "split":
                strings = [function.value]
            elif isinstance(function, ast.Name) and function.id == "words":
                strings = node.args
            for each in strings:
                if isinstance(each, ast.Constant) and isinstance(each.value, str):
                    yield from each.value.split()
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in aside:
            yield node.value.rpartition("::")[2]
            yield from table(node.value)


def table(text: str) -> list[str]:
    """The names in a text that is a table of names, possibly with other words; empty for sentences."""
    found = [word for word in re.split(r"[\s:,;|=()\[\]]+", text) if word and not word.isdigit()]
    return found if (count := sum(map(named, found))) > 3 and 2 * count > len(found) else []


def documentation(tree: ast.Module) -> Iterator[ast.AST]:
    """The strings that are statements."""
    return (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr))


def cases(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes of a rule's cases: VALID and INVALID, and definitions that only they use."""
    defined: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        for target in targets:
            if isinstance(target, ast.Name):
                defined.setdefault(target.id, []).append(statement)
        if isinstance(statement, ast.FunctionDef):
            defined.setdefault(statement.name, []).append(statement)
    found = used_by(defined, ["VALID", "INVALID"])
    others = used_by(defined, [name for name in defined if name not in found])
    for name in found - others:
        for statement in defined.get(name, ()):
            yield from ast.walk(statement)


def used_by(defined: dict[str, list[ast.stmt]], names: list[str]) -> set[str]:
    """The names that definitions of other names use, and these names."""
    found: set[str] = set()
    while names:
        name = names.pop()
        if name in defined and name not in found:
            found.add(name)
            parts = (node for statement in defined[name] for node in ast.walk(statement))
            names += [node.id for node in parts if isinstance(node, ast.Name)]
    return found


def calls(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes with names of operators whose calls are added to a graph."""
    methods = ("call", "node", "tensor")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in methods:
            for each in node.args[:1]:
                yield from ast.walk(each)


@cache
def literal_names() -> frozenset[tuple[str, str]]:
    """The files with names of operators and helpers, except words with another meaning."""
    words = {word for group in WORDS.values() for word in group.split()}
    paths = [*SOURCES.rglob("*.py"), *(REPOSITORY / "rules").glob("*.py")]
    return frozenset(
        (path.relative_to(REPOSITORY).as_posix(), text)
        for path in paths
        if not path.is_relative_to(SOURCES / "operators")
        for text in literals(ast.parse(path.read_text(encoding="utf-8")))
        if named(text) and text not in words
    )


def excepted(path: str, name: str) -> Iterator[tuple[str, str]]:
    """The exceptions that apply to a name in a file."""
    for place, (allowed, _) in EXCEPTIONS.items():
        if path == place or path.startswith(f"{place}/"):
            if allowed == ALL:
                yield place, ALL
            elif name in allowed.split():
                yield place, name


def test_names_of_operators_stand_in_the_book() -> None:
    assert len(names()) > 4_000
    assert sorted(f"{path}: {name}" for path, name in literal_names() if not any(excepted(path, name))) == []


def test_every_exception_is_one() -> None:
    used = {each for path, name in literal_names() for each in excepted(path, name)}
    listed = {(place, name) for place, (allowed, _) in EXCEPTIONS.items() for name in allowed.split() or [ALL]}
    assert sorted(listed - used) == []


def test_a_name_is_found_however_it_is_written() -> None:
    text = """
        A = words("relu no_such_operator")
        B = {"aten::relu_": 1}
        def f(builder):
            "relu"
            return builder.call("relu", ["mul_backward", "relu_out"]) if "add.Tensor" else "is relu"
        VALID = (f"- name: {CASE}", "relu")
        CASE = "relu"
        D = table("sort:1 topk:1,0 argmax:0 mode:1")
        E = "the sum of what they take"
    """
    tree = ast.parse("\n".join(line[8:] for line in text.splitlines()))
    assert sorted(filter(named, literals(tree))) == [
        *("add.Tensor", "argmax", "mode", "relu", "relu_", "relu_out", "sort", "topk"),
    ]
