"""Narrowing conversions in braced lists: rejected by ``requires``, but compiled with a warning.

``{n}`` for a ``double`` is ill-formed, so a requires-expression is false. PyTorch is built with ``-Wnarrowing``, with
which g++ only warns unless ``n`` is a constant. So lists that a requires-expression rejects are compiled again as plain
code.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from derivlint.compiler.gxx import CompilerError, Toolchain, compile_command, first_error, run

#: An error in a trial line, or in a template that it instantiates.
_REJECTED = re.compile(r"^braces:(\d+):\d+: +(?:error: |required from )", re.MULTILINE)

#: A braced list: its table, the row (None in a table of one row), the column, and a function that passes it.
_Trial = tuple[str, int | None, int, str]


def admit_narrowing(toolchain: Toolchain, content: dict[str, Any], types: dict[str, str], head: str) -> dict[str, Any]:
    """Return the relations with narrowing braced lists that the compiler accepts.

    Args:
        toolchain: the compiler and the headers.
        content: the relations; not modified.
        types: the spelling of the types of the relations.
        head: the includes, and the templates ``variable`` and ``take``.

    Raises:
        CompilerError: the compiler fails.
    """
    trials = list(_rejected_lists(content))
    lines = [f"using T{index} = {text};" for index, text in enumerate(types.values())]
    lines.append('#line 1 "braces"')
    lines += [code for _, _, _, code in trials]
    # an invalid last line: its error shows that the compiler reached the end
    lines.append('int last = "";')
    with tempfile.TemporaryDirectory(prefix="derivlint-") as name:
        folder = Path(name)
        (folder / "braces.cpp").write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
        options = toolchain.compiler.reading
        done = run(compile_command(toolchain, *options, "braces.cpp"), folder)
    rejected = {int(line) for line in _REJECTED.findall(done.stderr)}
    if len(trials) + 1 not in rejected:
        raise CompilerError(f"the braced lists cannot be compiled: {first_error(done.stderr)}")
    admitted = [trial for number, trial in enumerate(trials, 1) if number not in rejected]
    return _with(content, admitted)


def _rejected_lists(content: dict[str, Any]) -> Iterator[_Trial]:
    """Yield the rejected lists, whose only error may be narrowing."""
    names: list[str] = content["types"]
    number = 0
    for row, taken in enumerate(content["braced"]):
        mask = int(taken.get("1", "0"), 16)
        for column in range(len(names)):
            if not mask >> column & 1:
                number += 1
                code = f"void f{number}() {{ take<T{column}>({{variable<T{row}>()}}); }}"
                yield "braced", row, column, code
    for table, taken in content.items():
        if table.startswith("literal {"):
            mask = int(taken.get("1", "0"), 16)
            for column in range(len(names)):
                if not mask >> column & 1:
                    number += 1
                    code = f"void f{number}() {{ take<T{column}>({table.removeprefix('literal ')}); }}"
                    yield table, None, column, code


def _with(content: dict[str, Any], admitted: list[_Trial]) -> dict[str, Any]:
    result = dict(content)
    result["braced"] = [dict(row) for row in content["braced"]]
    for table, row, column, _ in admitted:
        if row is None:
            result[table] = changed = dict(result[table])
        else:
            changed = result[table][row]
        changed["1"] = f"{int(changed.get('1', '0'), 16) | 1 << column:x}"
    return result
