"""An operator as text: its schema, formulas and reference facts."""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.schema import FunctionFacts, OperatorFacts


def operator_lines(facts: OperatorFacts) -> Iterator[str]:
    """The lines that describe an operator: one paragraph for each of its functions."""
    for function in facts.functions:
        yield from _function(function)
        yield ""
    if facts.foreach:
        yield "foreach functions:"
        yield from (f"  {schema}" for schema in facts.foreach)


def _function(function: FunctionFacts) -> Iterator[str]:
    yield function.schema
    kind = function.kind + (", generated" if function.generated else "")
    yield f"  kind: {kind}"
    yield f"  variants: {', '.join(function.variants)}"
    if function.dispatch is not None:
        yield f"  dispatch: {', '.join(function.dispatch)}"
    elif function.structured_delegate is not None:
        yield f"  dispatch: as {function.structured_delegate}"
    elif not function.abstract:
        yield "  dispatch: none, so it is made of other operators (CompositeImplicitAutograd)"
    if function.view != "non_aliasing":
        yield f"  view: {function.view}"
    if function.view_group:
        yield f"  view group: {', '.join(function.view_group)}"
    if len(function.signature_group) > 1:
        yield f"  same signature: {', '.join(function.signature_group)}"
    if function.autogen:
        yield f"  autogen: {', '.join(function.autogen)}"
    if function.tags:
        yield f"  tags: {', '.join(function.tags)}"
