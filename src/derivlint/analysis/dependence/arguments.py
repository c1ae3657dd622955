"""Tensor arguments of an entry that lack a derivative, judging by other formulas and entries.

torchgen accepts arguments without a formula, for which the kernel raises if they require grad; the gradient of a
``non_differentiable`` argument is zero. That is right for indices, masks and running statistics. There are four kinds
of contrary evidence: another argument's formula reads the argument's value, so the result depends on it; such a formula
passes the argument to a helper, and the operator's reference varies with it; nearly all other entries give an argument
with this name a formula; the reference varies with an argument that is declared ``non_differentiable``.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from derivlint.analysis.calls.key_order import passed_variable
from derivlint.analysis.formula_analyses import FormulaAnalyses
from derivlint.analysis.scalar_evaluation.compare import differ
from derivlint.analysis.scalar_evaluation.points import POINTS, NumberKind, PointArguments
from derivlint.analysis.scalar_evaluation.reference import reference_of
from derivlint.analysis.scalar_evaluation.values import UnknownValueError
from derivlint.analysis.siblings import declaring_sibling
from derivlint.analysis.typed import TypedFormula
from derivlint.cpp.cpp_type import BOOL, TENSOR, template_type
from derivlint.formula import (
    BraceList,
    Call,
    Conditional,
    Construct,
    Expr,
    Name,
    Node,
    Number,
    Parenthesized,
    TypeName,
    unparenthesized,
    walk,
    whole_number,
)
from derivlint.formula.analysis import tuple_access
from derivlint.formula.vocabulary import words
from derivlint.model import DerivativeFormula, DispatchBody, Entry, Model, Role
from derivlint.model.generated.forward import PRIMAL, TANGENT
from derivlint.model.generated.gradients import GRAD_INPUT_MASK, mask_index
from derivlint.model.index import EntryIndex
from derivlint.model.query import file_fact
from derivlint.operators import Book
from derivlint.operators.special import NOT_IMPLEMENTED
from derivlint.schema import NativeFunction

#: The types of gradients in the result of a formula for several arguments.
TENSORS = frozenset({TENSOR, template_type("vector", [TENSOR])})
#: Names of arguments that are indices, booleans, counts, sizes, or the state of a random number generator.
DISCRETE = words("""
    index indices mask condition offsets offset2bag bag_size maximum_indices pivots LU_pivots lengths input_lengths
    target_lengths targets compressed_indices plain_indices crow_indices col_indices ccol_indices row_indices
    dropout_state rng_state philox_seed philox_offset cum_seq_q cum_seq_k cu_seqlens_q cu_seqlens_k seqused_k seqlen_k
    block_table batch_sizes sizes dims repeats labels counts info
""")
#: The last word of such names: ``attn_mask``, ``sorted_indices``.
DISCRETE_SUFFIXES = words("index indices mask map length lengths len lens seqlen qlen kvlen offset offsets idx ids")
#: Names of arguments for an operator's own data: statistics, noise, workspace, constants by contract.
AUXILIARY = words("""
    running_mean running_var running_min running_max noise random_samples buffer reserve reserveSpace weight_buf
    workspace dummy total_weight log_sumexp logsumexp
""")
#: Names of arguments of backward operators for the forward output; the formula of ``self`` includes the path through
#: the output.
FORWARD_OUTPUTS = words("output result self_or_result out")

#: The minimum number of other entries with a formula for an argument with the name; one in ten may lack it.
ENOUGH = 3
MANY = 0.9
#: The minimum number if all formulas of the entry are ``not_implemented``, which makes the gap harmless.
ENOUGH_FOR_STUBS = 8


class MissingDerivative(Struct, frozen=True):
    """An argument without a formula that should have one.

    Attributes:
        body: the formulas that lack it.
        argument: the argument's name.
        written: the formula that declares it ``non_differentiable``, or None.
        reader: the formula that reads the argument's value, or None.
        passer: the formula that passes the argument to a helper, or None.
        n_with_formula: the number of other entries with a formula for an argument of that name; 0 if not evidence.
        n_entries: the number of other entries with an argument of that name; 0 if not evidence.
        is_usual: whether arguments of that name usually have a formula; True if there is other evidence, for an
            operator of one's own without a declaration to the contrary, such as the operator's values.
        is_optional: whether the argument may be absent.
        has_derivative: whether the operator is known to have a derivative by the argument, which is declared
            ``non_differentiable``.
        sibling: the entry of a sibling operator that declares an argument of that name ``non_differentiable``, or None.
    """

    body: DispatchBody
    argument: str
    written: DerivativeFormula | None
    reader: TypedFormula | None
    passer: TypedFormula | None
    n_with_formula: int
    n_entries: int
    is_usual: bool
    is_optional: bool
    has_derivative: bool
    sibling: Entry | None


def varies_with(function: NativeFunction, argument: str) -> bool:
    """Whether an operator with a reference definition has a derivative by an argument that is not zero."""
    reference = reference_of(function)
    if reference is None:
        return False
    points = PointArguments(function, {argument})
    for number in range(POINTS):
        arguments = points.at(NumberKind.REAL, number)
        try:
            slopes = reference.slopes(arguments, argument, 1.0, certain=True)
        except (UnknownValueError, KeyError):
            continue
        if any(differ(0.0, slope) for slope in slopes):
            return True
    return False


def _uses(entry: Entry) -> Iterator[tuple[str, bool]]:
    """The tensor arguments of an entry with formulas, and whether each has a formula."""
    bodies = [body for body in entry.bodies if body.info is not None and body.info.has_derivatives]
    if entry.function is None or not bodies:
        return
    named = {name for body in bodies for name in _with_formula(body)}
    for name in sorted(named | set(entry.function.tensor_arguments)):
        yield name, name in named


#: The entries by name of their tensor arguments; the value is whether there is a formula.
BY_ARGUMENT: EntryIndex[bool] = EntryIndex(f"{__name__}:BY_ARGUMENT", _uses)


@file_fact
def _usage(model: Model, argument: str) -> tuple[int, int]:
    """Count the entries with a formula for an argument, and the other entries that have it, except one without.

    Both are 0 unless they are evidence, so that new entries seldom change the fact.
    """
    flags = model.values_in(BY_ARGUMENT, argument)
    count = len(flags) - 1
    return (sum(flags), count) if sum(flags) >= max(ENOUGH, MANY * count) else (0, 0)


@file_fact
def _is_usual(model: Model, key: str) -> bool:
    """Whether a number of entries give an argument a formula; the key is number and name: ``5 weight``."""
    number, argument = key.split()
    return sum(model.values_in(BY_ARGUMENT, argument)) >= int(number)


def _with_formula(body: DispatchBody) -> set[str]:
    return {binding.name for binding in body.info.args_with_derivatives} if body.info is not None else set()


def missing_derivatives(analyses: FormulaAnalyses, entry: Entry, usual: int) -> Iterator[MissingDerivative]:
    """The arguments of an entry that should have a formula, in the order of the schema.

    Args:
        analyses: the analyses of formulas.
        entry: the entry.
        usual: the minimum number of entries from which a formula is usual.
    """
    function = entry.function
    if function is None:
        return
    for body in entry.bodies:
        if body.info is None or not body.is_resolved:
            continue
        with_formula = _with_formula(body)
        is_stub = all(NOT_IMPLEMENTED in (formula.text or "") for formula in body.with_role(Role.BACKWARD))
        for binding in function.arguments:
            name = binding.name
            argument = binding.argument
            if argument is None or not argument.type.is_tensor_like or name in with_formula:
                continue
            if _is_in_forward_formula(body, name):
                continue
            formula = _declaration(body, name)
            if formula is None and not body.info.has_derivatives:
                continue
            sibling = None
            if formula is None and not argument.is_write:
                sibling = declaring_sibling(analyses.model, entry, name, without_own=name not in AUXILIARY)
            if sibling is None and (is_discrete(name) or name in AUXILIARY):
                continue
            if f"{function.canonical.name.base}({name})" in Book.by_hand("without-gradient"):
                continue
            reader, passer = _readers(analyses, body, name)
            n_with_formula, n_entries = analyses.model.fact(_usage, name)
            if n_with_formula < ENOUGH_FOR_STUBS and is_stub:
                n_with_formula = n_entries = 0
            is_optional = argument.type.is_nullable
            if formula is not None or is_optional:
                # a helper may not read the value
                passer = None
            has_derivative = formula is not None and varies_with(function.canonical, name)
            if not has_derivative and (
                not body.info.has_derivatives
                or (reader is None and passer is None and sibling is None and not n_entries)
            ):
                continue
            if formula is None and _has_too_few_names(analyses, body):
                continue
            # constants by contract, quantized weights: the author of an operator of one's own has declared them
            is_proof = reader is not None and (formula is None or function.canonical.in_cpp_api)
            is_usual = is_proof or bool(n_entries) or analyses.model.fact(_is_usual, f"{usual} {name}")
            # beside formulas, the declaration is a decision: op-plugin's "kl_div" has none for the target on purpose
            is_usual = is_usual or not body.info.has_derivatives
            is_usual = is_usual or (passer is not None and varies_with(function.canonical, name))
            yield MissingDerivative(
                body,
                name,
                formula,
                reader,
                passer,
                n_with_formula,
                n_entries,
                is_usual,
                is_optional,
                has_derivative,
                sibling,
            )


def is_discrete(argument: str) -> bool:
    """Whether an argument is integral or boolean, judging by its name."""
    return argument in DISCRETE or argument.rpartition("_")[2] in DISCRETE_SUFFIXES


def _readers(
    analyses: FormulaAnalyses, body: DispatchBody, argument: str
) -> tuple[TypedFormula | None, TypedFormula | None]:
    """A backward formula that reads an argument's value, and one that passes it to a helper."""
    if argument in FORWARD_OUTPUTS:
        return None, None
    formulas = sorted(analyses.formulas_of(body), key=lambda formula: formula.written.index)
    roots = [(formula, analyses.interpretation(formula).root) for formula in formulas if formula.is_backward]
    if any(_is_used_as_integer(formula, argument) for formula in formulas):
        return None, None
    reader = next((formula for formula, root in roots if root.reads(argument)), None)
    return reader, next((formula for formula, root in roots if root.may_read(argument)), None)


def _is_used_as_integer(formula: TypedFormula, argument: str) -> bool:
    """Whether a formula passes an argument, possibly after methods, where integers are due, or takes only an order."""
    for call in filter(None, (formula.call(node) for node in formula.nodes if isinstance(node, Call))):
        for position, item in enumerate(call.arguments):
            if item.parameter is None or passed_variable(item.node) != argument:
                continue
            is_index = is_discrete(item.parameter.name) and call.function is not None
            if is_index or f"{call.name}({item.parameter.name})" in Book.by_hand("takes-integers"):
                return True
            if position == 0 and f"{call.name}(0)" in Book.by_hand("integral-output"):
                return True
    return False


def _is_in_forward_formula(body: DispatchBody, argument: str) -> bool:
    """Whether a forward formula uses the missing tangent or primal, which another rule reports."""
    variables = (argument + TANGENT, argument + PRIMAL)
    return any(
        isinstance(node, Name) and node.simple in variables
        for formula in body.with_role(Role.FORWARD)
        if formula.parsed.tree is not None
        for node in walk(formula.parsed.tree)
    )


def _declaration(body: DispatchBody, argument: str) -> DerivativeFormula | None:
    """The formula that declares an argument ``non_differentiable``."""
    formulas = body.with_role(Role.NON_DIFFERENTIABLE)
    return next((formula for formula in formulas if any(name.text == argument for name in formula.names)), None)


def _has_too_few_names(analyses: FormulaAnalyses, body: DispatchBody) -> bool:
    """Whether a key lacks a name, judging by the type of its formula or mask; other rules report that."""
    written = [written for written in body.with_role(Role.BACKWARD) if len(written.names) > 1]
    if any(problem.written in written for problem in analyses.model.type_problems(body.entry)):
        return True
    formulas = [formula for formula in analyses.formulas_of(body) if formula.written in written]
    return any(dropped_values(analyses.model, formula) is not None for formula in formulas)


def dropped_values(model: Model, formula: TypedFormula) -> int | None:
    """The number of values that a formula returns if its key has fewer names, else None."""
    type = formula.type_of(formula.tree)
    values = type.arguments if type.head == "tuple" else ()
    if len(formula.written.names) < 2 or len(values) <= len(formula.written.names) or not TENSORS.issuperset(values):
        return None
    # a mask of another length is the same mistake
    if any(problem.written is formula.written for problem in model.type_problems(formula.written.entry)):
        return None
    return len(values)


class OtherMask(Struct, frozen=True):
    """A call that computes the gradients of a key with a mask other than ``grad_input_mask``.

    Attributes:
        formula: the formula.
        call: the call.
        callee: the name of the callee.
        parameter: the parameter for the mask.
        argument: the mask, or None for the parameter's default.
        size: the length of the mask.
        flags: for each gradient, the argument whose flag its element is, or the text of a literal; empty if unknown.
    """

    formula: TypedFormula
    call: Call
    callee: str
    parameter: str
    argument: Expr | None
    size: int
    flags: tuple[str, ...] = ()

    @property
    def unflagged(self) -> str | None:
        """An argument whose flag is not in its place in the mask, if possible one whose flag is nowhere in it."""
        names = (name.text for name in self.formula.written.names)
        misplaced = [name for name, flag in zip(names, self.flags, strict=False) if flag not in (name, "true")]
        return next((name for name in misplaced if name not in self.flags), next(iter(misplaced), None))


def other_masks(formula: TypedFormula) -> Iterator[OtherMask]:
    """The calls that return the gradients for several arguments with another mask."""
    if not formula.is_backward or len(formula.written.names) < 2:
        return
    for call in _results(formula.tree):
        facts = formula.call(call)
        function = facts.function if facts is not None else None
        if facts is None or function is None:
            continue
        for index, parameter in enumerate(function.parameters):
            array = parameter.type.unreferenced
            if array.size is None or array.arguments[:1] != (BOOL,):
                continue
            argument = call.args[index] if index < len(call.args) else None
            values = function.result.arguments
            flags = _flags(formula, argument, array.size) if len(values) == array.size else ()
            mask = OtherMask(formula, call, facts.spelling, parameter.name, argument, array.size, flags)
            if argument is None or _is_other_mask(argument) or mask.unflagged is not None:
                yield mask


class MaskedOut(Struct, frozen=True):
    """A ``std::get`` of a gradient that the mask of the call switches off.

    Attributes:
        formula: the formula.
        mask: the mask.
        position: the position of the gradient.
        callee: the name of the function that computes it.
    """

    formula: TypedFormula
    mask: Expr
    position: int
    callee: str


def masked_out(formula: TypedFormula) -> Iterator[MaskedOut]:
    """The gradients in a formula that are not computed: ``std::get<1>(f(..., {true, false}))``."""
    for node in formula.nodes:
        access = tuple_access(node) if isinstance(node, Call) else None
        call = unparenthesized(access[0]) if access is not None else None
        facts = formula.call(call) if isinstance(call, Call) else None
        index = access[1] if access is not None else None
        position = whole_number(index.text) if isinstance(index, Number) else None
        if facts is None or position is None:
            continue
        for argument in facts.arguments:
            array = argument.parameter.type.unreferenced if argument.parameter is not None else None
            if array is None or array.size is None or array.arguments[:1] != (BOOL,):
                continue
            flags = _flags(formula, argument.node, array.size)
            if flags[position : position + 1] == ("false",):
                yield MaskedOut(formula, argument.node, position, facts.spelling)


def _flags(formula: TypedFormula, mask: Expr | None, size: int) -> tuple[str, ...]:
    """The argument whose flag each element of a list is; elements that a list lacks are "false" in C++."""
    braces = mask.braces if isinstance(mask, Construct) else mask
    items = braces.items if isinstance(braces, BraceList) else None
    while items and isinstance(items[0], BraceList):
        items = items[0].items
    if items is None:
        return ()
    names = [name.text for name in formula.written.names]
    flags = []
    for item in map(unparenthesized, items):
        position = mask_index(item)
        if position is not None and position < len(names):
            flags.append(names[position])
        elif isinstance(item, Name) and item.simple in ("true", "false"):
            flags.append(item.simple)
        else:
            return ()
    return (*flags, *["false"] * (size - len(flags)))


def _results(node: Expr) -> Iterator[Call]:
    """The calls that return the whole value of an expression, in all branches."""
    if isinstance(node, Conditional):
        yield from _results(node.then)
        yield from _results(node.otherwise)
    elif isinstance(node, Parenthesized):
        yield from _results(node.inner)
    elif isinstance(node, Call):
        yield node


def _is_other_mask(node: Expr) -> bool:
    """Whether a mask is a constant, or a variable other than ``grad_input_mask``."""
    if isinstance(node, Name):
        return node.simple != GRAD_INPUT_MASK
    return not _has_variable(node)


def _has_variable(node: Node) -> bool:
    """Whether an expression contains a variable; types and booleans do not count."""
    if isinstance(node, TypeName):
        return False
    if isinstance(node, Name):
        return node.simple is not None and node.simple not in ("true", "false")
    return any(_has_variable(child) for child in node.children)
