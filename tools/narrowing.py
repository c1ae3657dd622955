"""Braced lists that narrow: refused where C++ only asks (``requires``), accepted with a warning where it compiles.

``{n}`` for a ``double`` is ill-formed, and PyTorch is built with ``-Wnarrowing``, by which g++ warns of it unless ``n``
is a constant. What is asked in a template is answered by the standard, so the refused lists are compiled once more as
plain code.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from derivlint.compiler.gxx import CompilerError, Toolchain, compile_command, first_error, run

#: An error in a line of ours, or in a template that a line of ours makes the compiler instantiate.
_BLAMED = re.compile(r"^braces:(\d+):\d+: +(?:error: |required from )", re.MULTILINE)

#: A braced list: the name of its table, the row (None in a table of one row), the column, and a function with it.
_Trial = tuple[str, int | None, int, str]


def admit_narrowing(toolchain: Toolchain, content: dict[str, Any], types: dict[str, str], head: str) -> dict[str, Any]:
    """The relations with the braced lists that the compiler accepts after all.

    Args:
        toolchain: the compiler and the headers.
        content: the relations; not changed.
        types: the spelling of the types of the relations.
        head: the includes, and the templates ``variable`` and ``take``.

    Raises:
        CompilerError: the compiler does not do its work.
    """
    trials = list(_refused(content))
    lines = [f"using T{index} = {text};" for index, text in enumerate(types.values())]
    lines.append('#line 1 "braces"')
    lines += [code for _, _, _, code in trials]
    # a line that no compiler accepts tells that it came to the end
    lines.append('int last = "";')
    with tempfile.TemporaryDirectory(prefix="derivlint-") as name:
        folder = Path(name)
        (folder / "braces.cpp").write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
        options = toolchain.compiler.reading
        done = run(compile_command(toolchain, *options, "braces.cpp"), folder)
    blamed = {int(line) for line in _BLAMED.findall(done.stderr)}
    if len(trials) + 1 not in blamed:
        raise CompilerError(f"the braced lists cannot be compiled: {first_error(done.stderr)}")
    admitted = [trial for number, trial in enumerate(trials, 1) if number not in blamed]
    return _with(content, admitted)


def _refused(content: dict[str, Any]) -> Iterator[_Trial]:
    """The lists that are refused; narrowing may be all that is wrong with them."""
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
