"""Inputs whose types fit: formulas, bodies of helpers, expressions to derive, and operators to make."""

from __future__ import annotations

from functools import cache

from derivlint.bodies.sizes import body_sizes
from derivlint.cpp.declarations.definitions import FunctionDefinition, function_definitions
from derivlint.cpp.declarations.header import read_declarations
from derivlint.formula import analysis, parse_formula
from derivlint.graph.differentiation.entries import Entries
from derivlint.graph.differentiation.forward import jvp
from derivlint.graph.differentiation.reverse import differentiate
from derivlint.graph.lowering import formula_graph, variables_of
from derivlint.graph.syntax.expression import print_expression
from derivlint.graph.syntax.printer import print_graph
from derivlint.graph.syntax.reader import read_graph
from derivlint.graph.types import TENSOR, GraphError
from derivlint.model import build_model
from derivlint.operators.shapes.size_values import Sizes
from derivlint.project.check import check_source
from derivlint.project.headers import read_bodies
from derivlint.source import SourceFile
from fuzz.case import Case
from fuzz.generators import bodies, command_lines, typed
from fuzz.oracle import check_diagnostics
from fuzz.seeds import seeds
from fuzz.target import Target, require
from fuzz.targets.checking import PATH, SETTINGS, check, natives, rules
from fuzz.targets.commands import command


def _fail(error: Exception) -> None:
    raise error


# what an evaluator fails with is a find, also where its answer is "unknown" then
analysis.observers.append(_fail)


def check_bodies(data: bytes) -> object:
    """Whatever a source file defines, what calls it is checked; sizes of it are known or not."""
    try:
        files = Case.decoded(data).files
    except ValueError:
        return None
    text, header = (files.get(name, b"").decode("utf-8", "replace") for name in ("f.cpp", "f.h"))
    operators = natives().with_bodies(cache(lambda: read_bodies(SourceFile("f.cpp", text), use_cache=False)))
    operators = operators.with_declarations(read_declarations(header).declarations.to_json(), complete=False)
    definitions = list(function_definitions(text))

    def named(name: str, count: int) -> FunctionDefinition | None:
        return next((each for each in definitions if each.name == name and len(each.params) == count), None)

    for definition in definitions:
        sizes = body_sizes(definition, named)
        if sizes is not None:
            values = (Sizes((2, 3)), 2, (0, 1), True)
            sizes.run({name: values[at % len(values)] for at, name in enumerate(sizes.parameters)})
    source = SourceFile.from_bytes(PATH, files.get(PATH, b""))
    checked = check_source(source, operators, SETTINGS, rules())
    # what is found in the bodies has its places there
    check_diagnostics(source, [item for item in checked.unfiltered if item.path == PATH])
    return [item.message for item in checked.unfiltered]


@cache
def _entries() -> Entries:
    return Entries(build_model(SourceFile(PATH, "".join(seeds().entries)), natives()))


def derive(data: bytes) -> object:
    """An expression of C++ is refused with a reason, or has a derivative that can be printed and read again."""
    entries = _entries()
    formula = parse_formula(data.decode("utf-8", "replace"))
    if formula.problems:
        return None
    try:
        graph = formula_graph(formula, entries.operators, dict.fromkeys(variables_of(formula), TENSOR))
        wrt = [value.name for value in graph.inputs][:1]
        derived = jvp(graph, entries, wrt) if len(data) % 4 == 0 else differentiate(graph, entries, wrt).joined()
        printed = print_graph(derived)
        require(print_graph(read_graph(printed)) == printed, "a graph that prints as another one", printed)
        return print_expression(derived)
    except GraphError as error:
        require(bool(str(error).strip()), "a refusal without a reason")
        return str(error)


TARGETS = (
    Target("typed", 5000, typed.file_bytes, check),
    Target("bodies", 3000, bodies.case_bytes, check_bodies),
    Target("derive", 1500, typed.expression_bytes, derive),
    Target("new", 60, command_lines.new_bytes, command, seconds=6.0),
)
