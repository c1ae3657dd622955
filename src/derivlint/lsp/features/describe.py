"""Descriptions of entries, operators and functions as Markdown, and the C++ that is generated for an entry."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from derivlint.analysis.interpretation.operators import linear_parameters
from derivlint.cpp.declarations.declaration import Function
from derivlint.lsp.analysis import DocumentAnalysis
from derivlint.lsp.features.facts import Callee, FormulaFacts, operators_of
from derivlint.lsp.features.locate import entry_at
from derivlint.model import DerivativeFormula, DispatchBody, Entry, FunctionMatch, How, Model, Role, SavedAttribute
from derivlint.model.generated.saved import without_repetition
from derivlint.model.keys import DEFAULT
from derivlint.schema import NativeFunction, SchemaKind
from derivlint.source import Span

#: The maximum number of listed overloads; more are counted.
MAX_LISTED = 8

_HOW = {
    How.EXACT: "own schema",
    How.SIGNATURE: "same signature",
    How.GENERATED_FUNCTIONAL: "generated functional form",
    How.FOREACH_GENERATED: "foreach",
    How.FOREACH_INPLACE: "foreach, in place",
}


def code(text: str, language: str = "cpp") -> str:
    """Format a code block."""
    return f"```{language}\n{text}\n```"


def paragraphs(parts: Iterable[str | None]) -> str:
    """Join paragraphs, without the empty ones."""
    return "\n\n".join(part for part in parts if part)


def names(items: Sequence[str]) -> str:
    """Join quoted names for a sentence."""
    return ", ".join(f"`{item}`" for item in items)


# ---- entries


def entry_text(model: Model, entry: Entry) -> str:
    """Describe an entry: schema, differentiable arguments and outputs, functions, autograd node."""
    function = entry.function
    if function is None:
        schema = entry.name.value if entry.name is not None else ""
        return paragraphs([code(schema, "text") if schema else None, "unknown operator"])
    canonical = function.canonical
    parts: list[str | None] = [code(str(canonical.schema), "text")]
    if function.declared is not canonical:
        parts.append(f"written as `{function.declared.schema}`")
    parts.append("\n".join(_bodies(model, entry)))
    parts.append(_served(model, entry))
    parts.append(native_facts(canonical))
    return paragraphs(parts)


def _bodies(model: Model, entry: Entry) -> Iterable[str]:
    several = len(entry.bodies) > 1
    for body in entry.bodies:
        lines = list(_body(model, body))
        if several or body.key != DEFAULT:
            yield f"- dispatch key `{body.key}`"
            yield from (f"  {line}" for line in lines)
        else:
            yield from lines


def _body(model: Model, body: DispatchBody) -> Iterable[str]:
    info = body.info
    if info is None:
        return
    with_gradient = [binding.name for binding in info.args_with_derivatives]
    function = info.func
    differentiability = model.canonical_differentiability(body)
    yield f"- differentiable arguments: {names(with_gradient) or 'none'}"
    tensors = [a.name for a in function.schema.arguments.flat_all if a.type.is_tensor_like]
    without_gradient = [name for name in tensors if name not in with_gradient]
    if without_gradient:
        yield f"- tensors without gradient: {names(without_gradient)}"
    if differentiability is not None and differentiability.outputs is not None:
        yield f"- differentiable outputs: {names([item.name for item in differentiability.outputs]) or 'none'}"
        non_differentiable = [item.name for item in differentiability.returns if item not in differentiability.outputs]
        if non_differentiable:
            yield f"- outputs without gradient: {names(non_differentiable)}"
    saved = without_repetition([*info.all_saved_inputs, *info.all_saved_outputs])
    if saved:
        yield f"- saved for backward: {names([item.name for item in saved])}"
    if info.forward_derivatives:
        forwards = [name for forward in info.forward_derivatives for name in forward.var_names]
        yield f"- forward formulas: {names(forwards)}"
    op = model.node_name(info)
    if op is not None:
        yield f"- autograd node: `{op}`"


def _served(model: Model, entry: Entry) -> str | None:
    """Describe the other functions that the entry applies to."""
    function = entry.function
    if function is None or entry not in model.entries:
        return None
    matches = [match for match in model.functions_of(entry) if match.function is not function.canonical and match.infos]
    if not matches:
        return None
    return "\n".join(["applies also to:", *(f"- `{match.function.name}` ({how(match)})" for match in matches)])


def how(match: FunctionMatch) -> str:
    """Describe how a function was matched with the formulas of an entry."""
    if any(info.source.kind == "view_copy" for info in match.infos.values()):
        return "copying form of the view"
    kind = match.function.schema.kind
    if match.how is How.SIGNATURE and kind is SchemaKind.inplace:
        return "in place"
    if match.how is How.SIGNATURE and kind is SchemaKind.out:
        return "out"
    return _HOW[match.how] if match.how is not None else "none"


# ---- formulas


def formula_text(model: Model, formula: DerivativeFormula) -> str:
    """Describe a key with its formula: its role, its saved variables, the expansion of an automatic formula."""
    named = names([name.text for name in formula.names])
    if formula.role is Role.NON_DIFFERENTIABLE:
        return f"{named}: declared non-differentiable, no gradient flows through"
    if formula.role is Role.BACKWARD:
        return paragraphs([f"backward formula (VJP): gradient of {named}", saved_text(formula)])
    if formula.role is Role.FORWARD:
        forward = formula.forward
        required = [f"{name}_t" for name in forward.required_inputs_fw_grad or ()] if forward is not None else []
        required += [f"{name}_p" for name in forward.required_inputs_primal or ()] if forward is not None else []
        needs = f"needs {names(required)}" if required else None
        return paragraphs([f"forward formula (JVP): tangent of {named}", automatic_text(formula), needs])
    return f"{named}: neither an argument nor an output of the operator"


def automatic_text(formula: DerivativeFormula) -> str | None:
    """Return the expansion of ``auto_linear`` or ``auto_element_wise``."""
    if formula.auto is None:
        return None
    if formula.forward is None:
        return f"`{formula.auto}` stands for nothing here"
    return paragraphs([f"`{formula.auto}` stands for", code(formula.forward.formula)])


def saved_text(formula: DerivativeFormula) -> str | None:
    """List the variables that the forward call saves for a backward formula."""
    derivative = formula.derivative
    if derivative is None:
        return None
    saved = without_repetition([*derivative.saved_inputs, *derivative.saved_outputs])
    if not saved:
        return "saves nothing"
    return "\n".join(["saves:", *map(saved_line, saved)])


def saved_line(saved: SavedAttribute) -> str:
    """Format a saved variable: its name, its type and the saved expression."""
    of = f" = `{saved.expr}`" if saved.expr != saved.name else ""
    why = " (only its text occurs, the formula does not use it)" if saved.accidental else ""
    return f"- `{saved.type} {saved.name}`{of}{why}"


# ---- functions


def callee_text(facts: FormulaFacts, callee: Callee) -> str:
    """Describe a called function: C++ signatures, the selected one first; schemas and derivatives of an operator."""
    parts: list[str | None] = [signatures_text(callee.overloads)]
    natives = operators_of(facts.model, callee)
    if natives:
        parts.append(operator_text(facts.model, natives))
    elif not callee.overloads:
        parts.append(f"`{callee.name}` is not known")
    if not callee.is_method:
        parts.append(_bodies_text(facts.model, callee))
    return paragraphs(parts)


def _bodies_text(model: Model, callee: Callee) -> str | None:
    """Show where a called helper is defined, and the parameters in which each definition is linear."""
    bodies = model.natives.bodies
    if bodies is None or not bodies.is_shown:
        return None
    lines = []
    for body in bodies.functions.get(callee.name, ()):
        line = bodies.source.position(body.name_span.start).line
        linear = linear_parameters(body)
        facts = f": linear in {names(linear)}" if linear else ""
        lines.append(f"- {Path(bodies.source.path).name}, line {line}{facts}")
    return "\n".join(["defined in:", *lines[:MAX_LISTED]]) if lines else None


def signatures_text(functions: Sequence[Function]) -> str | None:
    """Format the declarations of overloads."""
    texts = list(dict.fromkeys(function.signature for function in functions))
    if not texts:
        return None
    more = f"\n// and {len(texts) - MAX_LISTED} more" if len(texts) > MAX_LISTED else ""
    advice = next((function.deprecated for function in functions if function.deprecated is not None), None)
    deprecated = None if advice is None else f"deprecated{': ' + advice if advice else ''}"
    return paragraphs([code("\n".join(texts[:MAX_LISTED]) + more), deprecated])


def operator_text(model: Model, natives: Sequence[NativeFunction]) -> str:
    """Describe operators: their schemas, and their derivatives in the file."""
    schemas = code("\n".join(native.func_text for native in natives[:MAX_LISTED]), "text")
    entries = entries_serving(model, natives)
    if not entries:
        composite = all(not native.is_abstract for native in natives)
        derivative = (
            "composite: differentiated through the operators that it calls" if composite else "no entry in this file"
        )
        return paragraphs([schemas, derivative])
    lines = ["derivatives:"]
    for entry in entries[:MAX_LISTED]:
        formulas = ", ".join(f"`{formula.key_text}`" for formula in entry.formulas)
        line = model.source.position(entry.span.start).line
        lines.append(f"- `{entry.operator}` (line {line}): {formulas or 'no formula'}")
    return paragraphs([schemas, "\n".join(lines)])


def entries_serving(model: Model, natives: Iterable[NativeFunction]) -> list[Entry]:
    """Return the entries with derivatives of the operators, in file order."""
    by_index: dict[int, Entry] = {}
    for native in natives:
        for info in model.match(native).infos.values():
            index = info.source.index
            if index is not None and index < len(model.entries):
                by_index[index] = model.entries[index]
    return [by_index[index] for index in sorted(by_index)]


def native_facts(native: NativeFunction) -> str | None:
    """Format the fields of an operator in native_functions.yaml other than its schema."""
    facts = []
    kernels = [f"those of `{native.structured_delegate}`"] if native.structured_delegate is not None else []
    kernels += [names(native.dispatch)] if native.dispatch else []
    if kernels:
        facts.append(f"- kernels: {', and '.join(kernels)}")
    if native.tags:
        facts.append(f"- tags: {names(sorted(native.tags))}")
    variants = ", ".join(sorted(native.variants))
    facts.append(f"- called as {variants.replace('function, method', 'function and method')}")
    return "\n".join(facts)


class Lens(Struct, frozen=True):
    """A clickable line above an entry.

    Attributes:
        span: the operator's name.
        title: its text.
        offset: the argument of the command: an offset in the entry.
    """

    span: Span
    title: str
    offset: int


def lenses(analysis: DocumentAnalysis) -> tuple[Lens, ...]:
    """Yield a lens for each entry that generates code."""
    return tuple(
        Lens(entry.name_span, "show generated C++", entry.name_span.start)
        for entry in analysis.model.entries
        if entry.function is not None and any(body.formulas for body in entry.bodies)
    )


def generated_code(analysis: DocumentAnalysis, offset: int) -> str | None:
    """Generate the autograd nodes of the entry at an offset and their kernels; None if it generates no code."""
    entry = entry_at(analysis, offset)
    return None if entry is None or entry.function is None else _code(analysis, entry)


def _code(analysis: DocumentAnalysis, entry: Entry) -> str | None:
    from derivlint.emit.kernels import kernels
    from derivlint.emit.nodes import node_class

    model = analysis.model
    if entry not in model.entries:
        return None
    matches = model.functions_of(entry)
    functions = {str(match.function.name) for match in matches}
    # a name without overload also selects the other overloads
    chosen = [
        kernel for kernel in kernels(model, functions, only_with_entry=True) if str(kernel.function.name) in functions
    ]
    node_names = {kernel.node for kernel in chosen}
    pieces = []
    seen: set[str] = set()
    for info in [info for match in matches for info in match.infos.values()]:
        name = model.node_name(info)
        node = node_class(model, info) if name in node_names and name not in seen else None
        if node is not None:
            seen.add(node.name)
            pieces.append(node.listing)
    pieces += [kernel.listing for kernel in chosen]
    return "\n\n".join(pieces) + "\n" if pieces else None
