"""Gradients that may be undefined when a formula reads them.

The gradient of an output that nothing depends on is an undefined tensor. The head of derivatives.yaml tells when the
generated code takes care of it: for one input and one output always; for one input and several outputs only where all
are undefined; for several inputs never. Follows gen_autograd_functions.py (``DERIVATIVE_SINGLE`` and its like).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from derivlint.cpp.consumer import Use
from derivlint.formula import Binary, Call, Conditional, Expr, Index, Member, Name, Node, Parenthesized, Unary, walk
from derivlint.formula.vocabulary import words
from derivlint.meaning.callee import call_facts
from derivlint.meaning.directions import direction_names, direction_of
from derivlint.meaning.interpret import METADATA_MEMBERS, Interpretation
from derivlint.meaning.typed import TypedFormula
from derivlint.model import Model, Role
from derivlint.model.gradients import GRAD, gradients_of

DEFINED = "defined"
#: Backward operators whose kernels return undefined gradients for an undefined gradient (LinearAlgebra.cpp,
#: attention_backward.cu and their like begin with that question).
HANDLE_UNDEFINED = words("""
    matmul_backward linalg_matmul_backward _scaled_dot_product_efficient_attention_backward
    _scaled_dot_product_flash_attention_backward _scaled_dot_product_flash_attention_for_cpu_backward
    _flash_attention_backward _efficient_attention_backward _cudnn_attention_backward
    _scaled_dot_product_cudnn_attention_backward _scaled_dot_product_fused_attention_overrideable_backward
""")
#: So many entries are a whole file; where next to none asks for an undefined gradient, it keeps to another contract.
WHOLE_FILE = 100
FEW = 10
#: Methods of an undefined tensor that work.
HARMLESS = frozenset({DEFINED, "numel", "dim", "is_sparse", "options"})


@dataclass(frozen=True, slots=True)
class UnguardedRead:
    """A place where an operator gets a gradient that may be undefined.

    Attributes:
        formula: the formula.
        node: the gradient.
        direction: which one it is.
        reader: the call or operator that reads it.
        operator: the name of what is called, empty for ``+`` and the like.
        only_some: whether the formula is evaluated only where some gradient is defined.
    """

    formula: TypedFormula
    node: Expr
    direction: str
    reader: Expr
    operator: str
    only_some: bool


def unguarded_reads(model: Model, interpretation: Interpretation) -> Iterator[UnguardedRead]:
    """The gradients that a backward formula reads without a guard although they may be undefined; one for each."""
    formula = interpretation.formula
    if not formula.is_backward or formula.line.names == ():
        return
    if not keeps_contract(model):
        return
    use = formula.evaluation.consumer.use
    gradients = gradients_of(formula.line.body)
    used = {item.index for _, item in gradients.indexed} | {word.text for _, word in gradients.named}
    several = len(used) > 1
    protected = use in (Use.GRADIENT, Use.ELEMENT_GRADIENT)
    if protected and (not several or use is Use.ELEMENT_GRADIENT):
        return
    names = direction_names(formula)
    seen: set[str] = set()
    for read in _reads(model, formula, formula.tree, names):
        if read.direction not in seen:
            seen.add(read.direction)
            yield read


def keeps_contract(model: Model) -> bool:
    """Whether the formulas of a file are expected to cope with undefined gradients.

    PyTorch does so since 1.6; before, next to no formula asked for it.
    """
    found = model.derived.get(_Contract)
    if not isinstance(found, _Contract):
        asking = sum(
            line.formula.tree is not None and _asks(line.formula.tree)
            for entry in model.entries
            for line in entry.lines
            if line.role is Role.BACKWARD and DEFINED in (line.text or "")
        )
        found = model.derived[_Contract] = _Contract(len(model.entries) < WHOLE_FILE or asking >= FEW)
    return found.is_kept


@dataclass(frozen=True, slots=True)
class _Contract:
    is_kept: bool


def _reads(model: Model, formula: TypedFormula, node: Node, names: frozenset[str]) -> Iterator[UnguardedRead]:
    if isinstance(node, Conditional):
        if _asks(node.condition):
            # which branch is the guarded one is the author's business
            return
        yield from _reads(model, formula, node.condition, names)
        yield from _reads(model, formula, node.then, names)
        yield from _reads(model, formula, node.otherwise, names)
        return
    if isinstance(node, (Binary, Unary)):
        operands = (node.left, node.right) if isinstance(node, Binary) else (node.operand,)
        for operand in operands:
            yield from _read(formula, operand, names, node, "")
    elif isinstance(node, Call):
        call = call_facts(node, formula)
        if call is not None:
            yield from _called(model, formula, names, node)
    for child in node.children:
        yield from _reads(model, formula, child, names)


def _called(model: Model, formula: TypedFormula, names: frozenset[str], node: Call) -> Iterator[UnguardedRead]:
    call = call_facts(node, formula)
    if call is None or (call.is_method and call.name in METADATA_MEMBERS and call.name in HARMLESS):
        return
    if not call.is_method and (call.function is None or not model.natives.with_base(call.name)):
        # a helper copes with undefined gradients itself
        return
    if call.name in HANDLE_UNDEFINED:
        return
    for argument in call.arguments:
        parameter = argument.parameter
        if parameter is not None and parameter.type == "Tensor":
            yield from _read(formula, argument.node, names, node, call.spelling)


def _read(
    formula: TypedFormula, node: Expr, names: frozenset[str], reader: Expr, operator: str
) -> Iterator[UnguardedRead]:
    while isinstance(node, Parenthesized):
        node = node.inner
    direction = direction_of(node, names)
    if direction is not None:
        only_some = formula.evaluation.consumer.use is Use.GRADIENT
        yield UnguardedRead(formula, node, direction, reader, operator, only_some)


def _asks(expression: Expr) -> bool:
    """Whether an expression asks whether some gradient is defined."""
    for node in walk(expression):
        if isinstance(node, Call) and isinstance(node.callee, Member) and node.callee.name == DEFINED:
            asked = node.callee.object
            while isinstance(asked, Index):
                asked = asked.object
            if isinstance(asked, Name) and asked.simple is not None and asked.simple.startswith(GRAD):
                return True
    return False
