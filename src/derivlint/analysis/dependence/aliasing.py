"""Tangents that wrongly share or do not share memory with inputs, and writes to tensors that others may use."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from derivlint.analysis.interpretation.degree import Degree
from derivlint.analysis.interpretation.facts import Write
from derivlint.analysis.interpretation.interpret import Interpretation
from derivlint.analysis.interpretation.operators import VIEWS
from derivlint.analysis.typed import TypedFormula, seed_names
from derivlint.model.generated.evaluation import ORIGINAL_SELF
from derivlint.schema import SchemaKind


def aliased_tangents(interpretation: Interpretation) -> list[str]:
    """The input tangents that a forward formula may return unchanged, if the operator returns new tensors.

    An in-place operation on the output would also change the input's tangent.
    """
    formula = interpretation.formula
    function = formula.written.entry.function
    if formula.is_backward or function is None:
        return []
    canonical = function.canonical
    is_view = function.book.is_view(canonical) or (canonical.is_of_pytorch and canonical.name.base in VIEWS)
    if canonical.schema.kind is SchemaKind.inplace or is_view:
        return []
    return sorted(interpretation.root.aliases & seed_names(formula))


def is_copied_view(interpretation: Interpretation) -> bool:
    """Whether the forward formula of a view operator returns a new tensor instead of a view of the tangent."""
    formula = interpretation.formula
    function = formula.written.entry.function
    if formula.is_backward or function is None or formula.written.auto is not None:
        return False
    root = interpretation.root
    # a call of the operator itself may return a view
    is_own = any(
        call.node is formula.tree and call.name == function.canonical.name.base for call in interpretation.calls
    )
    return (
        function.book.is_view(function.canonical) and root.degree is Degree.LINEAR and not root.aliases and not is_own
    )


class Overwrite(Struct, frozen=True):
    """A part of a formula that wrongly modifies a tensor in place.

    Attributes:
        formula: the formula.
        write: the call or assignment.
        names: the variables whose memory it may share; empty for a new tensor without gradient that an argument with
            gradient is written to.
    """

    formula: TypedFormula
    write: Write
    names: tuple[str, ...]


def overwrites(interpretation: Interpretation) -> Iterator[Overwrite]:
    """The calls that modify a variable in place, or a constant in a backward formula."""
    formula = interpretation.formula
    if formula.written.auto is not None:
        # derived from the backward formula, whose writes are reported
        return
    own = _own_tensors(formula)
    for write in interpretation.writes:
        names = write.fact.aliases - own
        if names:
            yield Overwrite(formula, write, tuple(sorted(names)))
        elif (
            formula.is_backward
            and write.fact.degree is Degree.CONSTANT
            and any(interpretation.facts[operand].degree.has_seed for operand in write.operands)
        ):
            yield Overwrite(formula, write, ())


def _own_tensors(formula: TypedFormula) -> frozenset[str]:
    """The variables that a formula may modify: tangents of in-place arguments, and their copies."""
    function, evaluation = formula.written.entry.function, formula.evaluation
    if formula.is_backward or function is None or not function.is_inplace:
        return frozenset()
    written = {argument.name for argument in function.canonical.schema.arguments.flat_all if argument.is_write}
    tangents = {name for name, of in evaluation.tangents.items() if of in written or of == ORIGINAL_SELF}
    return frozenset(tangents.union(name for name, of in evaluation.primals.items() if of == ORIGINAL_SELF))
