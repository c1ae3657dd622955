"""The C++ that is generated for an entry, as ``derivlint show`` prints it."""

from __future__ import annotations

from msgspec import Struct

from derivlint.lsp.analysis import DocumentAnalysis
from derivlint.lsp.features.locate import entry_at
from derivlint.model import Entry
from derivlint.source import Span


class Lens(Struct, frozen=True):
    """A line above an entry that can be clicked.

    Attributes:
        span: the operator's name.
        title: its text.
        offset: the argument of the command: a place in the entry.
    """

    span: Span
    title: str
    offset: int


def lenses(analysis: DocumentAnalysis) -> tuple[Lens, ...]:
    """A lens above every entry that becomes code."""
    return tuple(
        Lens(entry.name_span, "show generated C++", entry.name_span.start)
        for entry in analysis.model.entries
        if entry.function is not None and any(body.formulas for body in entry.bodies)
    )


def generated_code(analysis: DocumentAnalysis, offset: int) -> str | None:
    """The autograd nodes of the entry at a place, and the kernels that create them; None without code."""
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
