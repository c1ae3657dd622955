"""The table of relations between C++ types, determined by a compiler: conversions, and the results of operators.

Hand-written conversion rules were wrong in a thousand places. A program tests for each pair of types whether an
expression is valid (``requires``), and prints the index of its type.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from derivlint.compiler.gxx import CompilerError, Toolchain, compile_command, first_error, run
from derivlint.compiler.relation_types import relation_types
from tools.narrowing import admit_narrowing

FORMAT = 1
BINARY = ("+", "-", "*", "/", "%", "==", "!=", "<", ">", "<=", ">=", "&", "|", "^", "<<", ">>")
ASSIGNING = ("+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=")
UNARY = ("-", "+", "!", "~", "*")
#: Expressions whose conversions are not those of their type.
LITERALS = ("0", '"x"', "nullptr", "std::nullopt", "{}", "{0}", '{"x"}', "{{}}")
#: The literals tested as branches of a conditional expression.
BRANCHES = ("0", '"x"', "nullptr", "std::nullopt")

#: Linker options for a program without PyTorch's libraries: references in headers stay unresolved.
_UNLINKED = ("-no-pie", "-Wl,--unresolved-symbols=ignore-all")
#: The maximum number of types for a single program; more need several, because of the compiler's memory.
_MAX_TYPES = 20

_HEAD = """\
#include <ATen/ATen.h>
#include <ATen/NestedTensorImpl.h>
#include <torch/csrc/autograd/FunctionsManual.h>
#include <torch/csrc/autograd/generated/Functions.h>
#include <cstdio>

template <class T> T made();
template <class T> const T& constant();
template <class T> T& variable();
template <class T> void take(T);
"""


class _Table(Struct, frozen=True):
    """A relation of a type ``A``, or of two types ``A`` and ``B``.

    Attributes:
        name: its name.
        valid: the expression that must be valid.
        result: the expression whose type is tabulated, or None for validity only.
        pairs: whether it relates two types.
    """

    name: str
    valid: str
    result: str | None = None
    pairs: bool = True


def _tables() -> list[_Table]:
    tables = [
        # an argument is a variable: OptionalArray converts only as one that may be changed
        _Table("implicit", "take<B>(variable<A>())"),
        _Table("explicit", "B(variable<A>())"),
        _Table("braced", "take<B>({variable<A>()})"),
        _Table("base", "requires std::is_class_v<A>; requires std::is_class_v<B>; requires std::is_base_of_v<B, A>"),
        _Table("ternary", "true ? made<A>() : made<B>()", "true ? made<A>() : made<B>()"),
        _Table("index", "constant<A>()[constant<B>()]", "constant<A>()[constant<B>()]"),
        _Table("condition", "variable<A>() ? 1 : 2", pairs=False),
    ]
    for op in BINARY:
        expression = f"constant<A>() {op} constant<B>()"
        tables.append(_Table(f"binary {op}", expression, expression))
    for op in ASSIGNING:
        expression = f"variable<A>() {op} constant<B>()"
        tables.append(_Table(f"binary {op}", expression, expression))
    tables += [_Table(f"unary {op}", f"{op}variable<A>()", f"{op}variable<A>()", pairs=False) for op in UNARY]
    tables += [_Table(f"literal {literal}", f"take<A>({literal})", pairs=False) for literal in LITERALS]
    for literal in BRANCHES:
        first, last = f"true ? {literal} : made<A>()", f"true ? made<A>() : {literal}"
        tables.append(_Table(f"first {literal}", first, first, pairs=False))
        tables.append(_Table(f"last {literal}", last, last, pairs=False))
    return tables


def _program(types: dict[str, str], tables: Sequence[_Table]) -> str:
    names = range(len(types))
    lines = [_HEAD]
    lines += [f"using T{index} = {text};" for index, text in enumerate(types.values())]
    chain = "".join(f"if constexpr (std::is_same_v<D, T{index}>) return {index}; else " for index in names)
    lines.append(
        f"template <class R> constexpr int index_of() {{ using D = std::remove_cvref_t<R>; {chain}return -2; }}"
    )
    body = []
    for number, table in enumerate(tables):
        result = f"index_of<decltype({table.result})>()" if table.result is not None else "1"
        parameters = "class A, class B" if table.pairs else "class A"
        lines.append(
            f"template <{parameters}> constexpr int t{number}() "
            f"{{ if constexpr (requires {{ {table.valid}; }}) return {result}; else return -1; }}"
        )
        if table.pairs:
            cells = ", ".join(f"t{number}<A, T{index}>()" for index in names)
            body.append(f"{{ static constexpr short row[] = {{{cells}}}; print({number}, row); }}")
        else:
            body.append(f"{{ static constexpr short row[] = {{t{number}<A>()}}; print({number}, row); }}")
    lines.append(
        "template <int N> void print(int table, const short (&row)[N]) "
        '{ std::printf("%d", table); for (short cell : row) std::printf(" %d", cell); std::puts(""); }'
    )
    lines.append("template <class A> void test() {\n" + "\n".join(body) + "\n}")
    lines.append("int main() { " + " ".join(f"test<T{index}>();" for index in names) + " }")
    return "\n".join(lines) + "\n"


def tabulate_relations(
    toolchain: Toolchain,
    types: dict[str, str] | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Any]:
    """Tabulate the relations of types.

    Args:
        toolchain: the compiler and the headers.
        types: canonical names with their spelling; by default all of :func:`relation_types`.
        progress: called with the number of finished programs and their total.

    Raises:
        CompilerError: the compiler fails.
    """
    types = relation_types() if types is None else types
    tables = _tables()
    parts = [tables[:4], tables[4:14], tables[14:24], tables[24:]] if len(types) > _MAX_TYPES else [tables]
    content: dict[str, Any] = {"format": FORMAT, "types": list(types)}
    for number, part in enumerate(parts):
        answers: dict[int, list[list[int]]] = {}
        for line in run_program(toolchain, _program(types, part)).splitlines():
            question, *cells = map(int, line.split())
            answers.setdefault(question, []).append(cells)
        for index, table in enumerate(part):
            rows = answers[index]
            content[table.name] = [_row(row) for row in rows] if table.pairs else _row([row[0] for row in rows])
        progress(number + 1, len(parts) + 1)
    content = admit_narrowing(toolchain, content, types, _HEAD)
    progress(len(parts) + 1, len(parts) + 1)
    return content


def _row(cells: Sequence[int]) -> dict[str, str]:
    """Encode a row as a hexadecimal bit mask of columns per result; invalid expressions are omitted."""
    masks: dict[int, int] = {}
    for column, cell in enumerate(cells):
        if cell != -1:
            masks[cell] = masks.get(cell, 0) | 1 << column
    return {str(answer): f"{mask:x}" for answer, mask in sorted(masks.items())}


def render_relations(content: dict[str, Any]) -> bytes:
    """Render the bundled table, one relation a line."""
    lines = [f"{json.dumps(name)}:{json.dumps(value, separators=(',', ':'))}" for name, value in content.items()]
    return ("{" + ",\n".join(lines) + "}\n").encode("ascii")


def run_program(toolchain: Toolchain, source: str) -> str:
    """Compile and run a program that only uses headers, and return its output.

    Raises:
        CompilerError: the program does not compile, or fails.
    """
    with tempfile.TemporaryDirectory(prefix="derivlint-") as name:
        folder = Path(name)
        (folder / "program.cpp").write_text(source, encoding="utf-8")
        done = run(compile_command(toolchain, "-w", "-O0", *_UNLINKED, "program.cpp", "-o", "program"), folder)
        if done.status:
            raise CompilerError(f"the program cannot be compiled: {first_error(done.stderr)}")
        done = run([str(folder / "program")], folder)
        if done.status:
            raise CompilerError(f"the program ends with status {done.status}")
        return done.stdout
