"""Arguments that are passed for the wrong parameter, judging by the names of variables and parameters.

PyTorch names parameters consistently: a helper for ``mse_loss`` takes ``self`` and ``target``, a forward helper
``self_p`` and ``self_t``. A value with the name of another parameter is suspicious.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import Enum
from itertools import pairwise

from msgspec import Struct

from derivlint.analysis.calls.key_order import passed_variable
from derivlint.analysis.dependence.arguments import is_discrete
from derivlint.analysis.interpretation.callee import CallArgument, CallFacts, callee_name, only_operand, role_of
from derivlint.analysis.interpretation.degree import Degree
from derivlint.analysis.interpretation.interpret import Interpretation
from derivlint.analysis.interpretation.operators import VIEWS
from derivlint.analysis.outputs import discrete_kind
from derivlint.analysis.typed import TypedFormula, seed_names, seed_of
from derivlint.cpp.cpp_type import BOOL, DOUBLE, TENSOR, types
from derivlint.cpp.declarations.declaration import Parameter
from derivlint.formula import Binary, Call, Expr, Index, Member, Name, Number, Unary, unparenthesized, walk
from derivlint.model.generated.forward import PRIMAL, TANGENT
from derivlint.model.generated.gradients import GRADS
from derivlint.model.resolve import EntryFunction, generic_output_index
from derivlint.model.scope import RETAIN_VARIABLES
from derivlint.operators import Book
from derivlint.operators.special import CASTING, ParameterRole
from derivlint.schema import OptionalType, SchemaKind

#: Methods that return the same value in another form.
SAME_VALUE = Book.by_hand("same-or-conjugate")
BACKWARD = "_backward"
JVP = "_jvp"


class MismatchKind(Enum):
    """The kinds of suspicions about arguments."""

    #: a tangent for ``self_p``, or a primal for ``self_t``
    PRIMAL_AND_TANGENT = "primal and tangent"
    #: a gradient for another parameter, and another value for the gradient
    GRADIENT_ELSEWHERE = "gradient elsewhere"
    #: one gradient or tangent for two parameters
    REPEATED_SEED = "repeated seed"
    #: one argument or output of the operator for two parameters, one of them with its name
    REPEATED_VALUE = "repeated value"
    #: ``grads[1]`` before ``grads[0]``
    DISORDER = "disorder"
    #: two arguments of the operator, each for the parameter with the other's name
    SWAPPED = "swapped"
    #: an argument of the operator for a parameter with the name of another argument, which is not passed
    OTHER_ARGUMENT = "other argument"
    #: ``result2`` just before ``result1``
    OUTPUT_DISORDER = "outputs in disorder"
    #: a floating-point output for an index or mask
    NOT_DISCRETE = "not discrete"
    #: a gradient, or the argument whose gradient is computed, for a mask
    FLOATING_MASK = "floating mask"
    #: the same for an index
    FLOATING_INDEX = "floating index"
    #: a flag for a number, or a number for a flag
    FLAG_AND_NUMBER = "flag and number"
    #: an argument with the flag of results, or the result with that of arguments
    RESULT_FLAG = "result flag"
    #: the size or layout of one tensor beside those of another for "sizes" and "layout"
    OTHER_PROPERTY = "other property"
    #: the layout of another tensor for "self_layout"
    OTHER_OWNER = "other owner"
    #: strides for "sizes", or sizes for "strides"
    SIZES_AND_STRIDES = "sizes and strides"
    #: the operator's result for a parameter with the name of an argument
    RESULT_FOR_ARGUMENT = "result for argument"


#: Values that operators refuse when they run, or that no tensor makes right.
_REFUSED = frozenset({MismatchKind.FLOATING_MASK, MismatchKind.FLOATING_INDEX, MismatchKind.SIZES_AND_STRIDES})
#: Values with the names of other parameters.
_NAMED = frozenset(
    {
        MismatchKind.PRIMAL_AND_TANGENT,
        MismatchKind.GRADIENT_ELSEWHERE,
        MismatchKind.REPEATED_SEED,
        MismatchKind.SWAPPED,
    }
)


class ArgumentMismatch(Struct, frozen=True):
    """An argument that is probably meant for another parameter.

    Attributes:
        kind: the suspicion.
        formula: the formula.
        call: the call.
        arguments: the arguments, the blamed one first.
        names: their names if these differ from the text: the seed, the variable.
    """

    kind: MismatchKind
    formula: TypedFormula
    call: CallFacts
    arguments: tuple[CallArgument, ...]
    names: tuple[str, ...]

    @property
    def is_certain(self) -> bool:
        """Whether the call cannot be right: PyTorch names what its functions for gradients and tangents take."""
        if self.kind in _REFUSED:
            return True
        function = self.formula.written.entry.function
        if function is None or not function.canonical.in_cpp_api:
            return False
        if self.kind is MismatchKind.OTHER_ARGUMENT or _is_converted(self.formula, self.arguments[0]):
            return True
        if self.kind is MismatchKind.REPEATED_VALUE:
            # the operator's own backward function takes each of its arguments once
            return self.call.name == function.canonical.name.base + BACKWARD
        return self.kind in _NAMED and _is_of_derivatives(self.call)


def _is_of_derivatives(call: CallFacts) -> bool:
    """Whether a call is of a function for gradients or tangents, judging by its name."""
    return BACKWARD in call.name or JVP in call.name


def variable_of(node: Expr) -> str | None:
    """The variable of which an expression is a form: ``self`` for ``(self.conj())``."""
    while True:
        node = unparenthesized(node)
        inner = only_operand(node) if isinstance(node, Call) and callee_name(node) in SAME_VALUE else None
        if inner is None:
            return node.simple if isinstance(node, Name) else None
        node = inner


def argument_mismatches(interpretation: Interpretation) -> Iterator[ArgumentMismatch]:
    """The suspicious arguments of a formula; at most one for each call."""
    formula = interpretation.formula
    names = seed_names(formula)
    for call in interpretation.calls:
        if call.function is None or call.is_method:
            continue
        mismatch = (
            _seeds(interpretation, call, names)
            or _misplaced_arguments(formula, call)
            or _repeated(formula, call)
            or _misplaced_values(formula, call)
        )
        if mismatch is not None:
            yield mismatch


def _seeds(interpretation: Interpretation, call: CallFacts, names: frozenset[str]) -> ArgumentMismatch | None:
    bare = [(argument, _bare_seed(argument.node, names)) for argument in call.arguments]
    mismatch = None if interpretation.formula.is_backward else _misplaced_tangents(interpretation, call, bare)
    return mismatch or _misplaced_gradients(interpretation, call, bare)


def _misplaced_tangents(
    interpretation: Interpretation, call: CallFacts, bare: list[tuple[CallArgument, str | None]]
) -> ArgumentMismatch | None:
    formula = interpretation.formula
    for argument, seed in bare:
        parameter = argument.parameter
        if parameter is None or not parameter.type.has_tensors:
            continue
        if parameter.name.endswith(PRIMAL) and interpretation.facts[argument.node].degree.has_seed:
            return ArgumentMismatch(MismatchKind.PRIMAL_AND_TANGENT, formula, call, (argument,), (seed or "",))
        variable = variable_of(argument.node) if parameter.name.endswith(TANGENT) else None
        if variable is not None and variable.endswith(PRIMAL):
            return ArgumentMismatch(MismatchKind.PRIMAL_AND_TANGENT, formula, call, (argument,), (variable,))
    return None


def _bare_seed(node: Expr, names: frozenset[str]) -> str | None:
    node = unparenthesized(node)
    if isinstance(node, Call) and callee_name(node) in SAME_VALUE and (isinstance(node.callee, Member) or node.args):
        # "grad.contiguous(format)" has the value of "grad" too
        node = node.callee.object if isinstance(node.callee, Member) else node.args[0]
    return seed_of(node, names)


def _misplaced_gradients(
    interpretation: Interpretation, call: CallFacts, bare: list[tuple[CallArgument, str | None]]
) -> ArgumentMismatch | None:
    formula = interpretation.formula
    directed = [(argument, seed) for argument, seed in bare if seed is not None]
    if not directed:
        return None
    roles = {argument: role_of(argument.parameter) for argument, _ in bare if argument.parameter is not None}
    elsewhere = [
        argument
        for argument, seed in bare
        if seed and (parameter := argument.parameter) and parameter.type is TENSOR and roles.get(argument) is _OTHER
    ]
    instead = [
        argument
        for argument, seed in bare
        if seed is None
        and roles.get(argument) is ParameterRole.GRADIENT
        and (
            _is_no_gradient(argument.node)
            or (variable_of(argument.node) is None and interpretation.facts[argument.node].degree is Degree.CONSTANT)
        )
    ]
    has_one = any(roles.get(argument) is ParameterRole.GRADIENT for argument, _ in directed)
    if elsewhere and instead and not has_one and JVP not in call.name:
        names = (variable_of(instead[0].node) or formula.source_of(instead[0].node),)
        return ArgumentMismatch(MismatchKind.GRADIENT_ELSEWHERE, formula, call, (elsewhere[0], instead[0]), names)
    by_seed = {seed: argument for argument, seed in directed}
    for argument, seed in directed:
        target = argument.parameter.name if argument.parameter is not None else seed
        counterpart = by_seed.get(target) if target != seed else None
        if counterpart is not None and counterpart.parameter is not None and counterpart.parameter.name == seed:
            return ArgumentMismatch(MismatchKind.SWAPPED, formula, call, (argument, counterpart), (seed, target))
    # "gvar" and "gmean": the names of the parameters may be meaningless
    is_decided = any(role.is_seed for role in roles.values())
    # unless its definition is linear in both
    is_decided = is_decided and interpretation.facts[call.node].degree is not Degree.LINEAR
    seen: dict[str, CallArgument] = {}
    for argument, seed in directed:
        # a gradient that is passed twice is a product, which another rule reports
        if seed in seen and (not is_decided or roles.get(argument, _OTHER).is_seed):
            arguments = (argument, seen[seed])
            return ArgumentMismatch(MismatchKind.REPEATED_SEED, formula, call, arguments, (seed,))
        seen[seed] = argument
    indexed = [(argument, seed) for argument, seed in directed if seed.startswith(GRADS + "[")]
    for (first, earlier), (second, later) in pairwise(indexed):
        if earlier > later and len(earlier) == len(later):
            return ArgumentMismatch(MismatchKind.DISORDER, formula, call, (first, second), (earlier, later))
    return None


_OTHER = ParameterRole.OTHER


def _is_no_gradient(node: Expr) -> bool:
    """Whether an expression is a variable without a gradient's name, such as ``grad_output_p``."""
    variable = variable_of(node)
    if variable is None:
        return False
    name = variable.removesuffix(PRIMAL)
    return role_of(Parameter(TENSOR, name)) is not ParameterRole.GRADIENT


def _repeated(formula: TypedFormula, call: CallFacts) -> ArgumentMismatch | None:
    """A tensor that is passed to a helper for the parameter with its name and for another one."""
    function = formula.written.entry.function
    if function is None or not _is_of_derivatives(call):
        return None
    tensor_names = {*function.tensor_arguments, *[output.name for output in function.outputs]}
    suffix = "" if formula.is_backward else PRIMAL
    own: dict[str, CallArgument] = {}
    elsewhere: list[tuple[str, CallArgument]] = []
    for argument in call.arguments:
        parameter = argument.parameter
        if parameter is None or not parameter.type.has_tensors:
            continue
        # "self.to(grad.scalar_type())" for "self"
        name = _plain(passed_variable(argument.node) or "", suffix)
        if name not in tensor_names:
            continue
        if _plain(parameter.name, suffix) == name:
            own[name] = argument
        elif variable_of(argument.node) is not None:
            elsewhere.append((name, argument))
    for name, argument in elsewhere:
        if name in own:
            return ArgumentMismatch(MismatchKind.REPEATED_VALUE, formula, call, (argument, own[name]), (name,))
    return None


def _misplaced_arguments(formula: TypedFormula, call: CallFacts) -> ArgumentMismatch | None:
    """A value for a parameter with the name of another argument of the operator."""
    function = formula.written.entry.function
    if function is None:
        return None
    # the backward operator's derivative is the operator: nll_loss for nll_loss_backward
    is_inverse = call.name + BACKWARD == function.canonical.name.base
    if not is_inverse and not call.name.endswith((BACKWARD, JVP)):
        return None
    tensors = function.tensor_arguments
    outputs = {output.name for output in function.outputs}
    inplace = function.canonical.schema.kind is SchemaKind.inplace
    if not tensors or inplace or (formula.is_backward and tensors[0] not in formula.names):
        # a helper for the first argument may take the others in other roles
        return None
    suffix = "" if formula.is_backward else PRIMAL
    bindings = [
        (_plain(variable, suffix), argument, _plain(argument.parameter.name, suffix))
        for argument in call.arguments
        if argument.parameter is not None and (variable := variable_of(argument.node)) is not None
    ]
    passed = {name: (argument, parameter) for name, argument, parameter in reversed(bindings)}
    if not formula.is_backward and any(name.endswith(TANGENT) and name != tensors[0] + TANGENT for name in passed):
        return None
    parameters = {target for *_, target in bindings}
    for name, argument, target in bindings:
        if name in {*outputs, *tensors} and target in outputs - {name} and target not in passed:
            return ArgumentMismatch(MismatchKind.OTHER_ARGUMENT, formula, call, (argument,), (name, target))
        if name in outputs and target in outputs - {name} and passed.get(target, (None, ""))[1] == name:
            arguments = (argument, passed[target][0])
            return ArgumentMismatch(MismatchKind.SWAPPED, formula, call, arguments, (name, target))
        if target == name or target not in tensors:
            continue
        if target in passed:
            counterpart, parameter = passed[target]
            # a helper may have another name for one of them, such as "input" for "self"
            is_other = parameter not in (*tensors, *outputs) and name not in parameters
            if name in tensors and (parameter == name or is_other):
                return ArgumentMismatch(MismatchKind.SWAPPED, formula, call, (argument, counterpart), (name, target))
        elif argument.parameter is not None and role_of(argument.parameter).is_seed:
            # the gradient itself is meant
            continue
        elif name in tensors:
            return ArgumentMismatch(MismatchKind.OTHER_ARGUMENT, formula, call, (argument,), (name, target))
        elif name in outputs and call.name == function.canonical.name.base + BACKWARD:
            types = {
                binding.name: binding.argument.type for binding in function.arguments if binding.argument is not None
            }
            if not isinstance(types.get(target), OptionalType):
                return ArgumentMismatch(MismatchKind.RESULT_FOR_ARGUMENT, formula, call, (argument,), (name, target))
    return None


def _misplaced_values(formula: TypedFormula, call: CallFacts) -> ArgumentMismatch | None:
    """A number, list or flag for a parameter with the name of another one, which is swapped with it or missing."""
    function = formula.written.entry.function
    if function is None:
        return None
    plain_names = {binding.name for binding in function.arguments}.difference(function.tensor_arguments)
    if not plain_names:
        return None
    passable = {*plain_names, RETAIN_VARIABLES}
    bindings = [
        (name, argument, argument.parameter)
        for argument in call.arguments
        if argument.parameter is not None and (name := variable_of(argument.node) or "") in passable
    ]
    passed = {name: (argument, parameter) for name, argument, parameter in bindings}
    own = {name for name, _, parameter in bindings if parameter.name == name}
    places = {argument.parameter.name: argument for argument in call.arguments if argument.parameter is not None}
    for name, argument, parameter in bindings:
        target = parameter.name
        if target == name:
            continue
        if target in passed and passed[target][1].name == name:
            arguments = (argument, passed[target][0])
            return ArgumentMismatch(MismatchKind.SWAPPED, formula, call, arguments, (name, target))
        if target in plain_names and target not in passed:
            # "dilation" may be in the place of "groups" only elsewhere in the formula
            mentioned = _variables(call.node) if name in own else formula.variables
            if (name in own or _is_of_derivatives(call)) and target not in mentioned:
                return ArgumentMismatch(MismatchKind.OTHER_ARGUMENT, formula, call, (argument,), (name, target))
        elif BACKWARD in call.name and target not in plain_names and name not in own and name in places:
            # the parameter with the variable's name is passed a number, too
            counterpart = unparenthesized(places[name].node)
            is_size = isinstance(counterpart, (Call, Name)) and variable_of(counterpart) not in plain_names
            if is_size and formula.type_of(counterpart) in INTEGERS:
                arguments = (argument, places[name])
                names = (name, formula.source_of(counterpart))
                return ArgumentMismatch(MismatchKind.SWAPPED, formula, call, arguments, names)
    return None


def _variables(node: Expr) -> frozenset[str | None]:
    return frozenset(part.simple for part in walk(node) if isinstance(part, Name))


def _plain(name: str, suffix: str) -> str:
    return name.removesuffix(suffix) if suffix else name


ARITHMETIC = ("+", "-", "*", "/")
#: Without "^", which is meant as a power.
BITWISE = ("&", "|")
#: Mask parameters of operators that reject other tensors.
MASKS = ("condition", "mask")
MASKING = Book.by_hand("mask-first") | Book.by_hand("mask-second")


def _floating(formula: TypedFormula) -> set[str]:
    """The tensors that are certainly floating-point: gradients or tangents, arguments with one, the only output."""
    function = formula.written.entry.function
    names = set(seed_names(formula))
    if function is not None and len(function.outputs) == 1 and discrete_kind(function.canonical, 0) is None:
        names.add(function.outputs[0].name)
    info = formula.written.body.info
    for binding in info.args_with_derivatives if info is not None else ():
        # a mask may have a misspelt "non_differentiable"
        if not is_discrete(binding.name):
            names.add(binding.name if formula.is_backward else binding.name + PRIMAL)
    return names


def floating_masks(interpretation: Interpretation) -> Iterator[ArgumentMismatch]:
    """The masks and indices that are certainly floating-point tensors, since they have a gradient."""
    formula = interpretation.formula
    names = _floating(formula)
    for call in interpretation.calls:
        is_mask = call.name in MASKING
        argument = next(filter(None, map(call.argument, MASKS if is_mask else INDEX)), None)
        variable = _tensor_of(argument.node) if argument is not None else None
        # "-mask" is an error, "mask * 2" an integer
        is_floating = argument is not None and (variable in names or _is_cast(argument.node, names))
        if argument is not None and (is_floating or (is_mask and _is_calculated(formula, argument.node))):
            kind = MismatchKind.FLOATING_MASK if is_mask else MismatchKind.FLOATING_INDEX
            yield ArgumentMismatch(kind, formula, call, (argument,), (str(variable),))


def floating_bits(interpretation: Interpretation) -> Iterator[tuple[str, Expr]]:
    """The bitwise operators with an operand that is certainly floating-point, which fail when they run."""
    formula = interpretation.formula
    names = _floating(formula)
    for node in formula.nodes:
        operands: tuple[Expr, ...] = ()
        if isinstance(node, Binary) and node.op in BITWISE:
            operands = (node.left, node.right)
        elif isinstance(node, Unary) and node.op == "~":
            operands = (node.operand,)
        if isinstance(node, (Binary, Unary)) and operands and formula.type_of(node) is TENSOR:
            for operand in operands:
                if variable_of(operand) in names or formula.type_of(operand) is DOUBLE:
                    yield node.op, operand


def _tensor_of(node: Expr) -> str | None:
    """The variable of which an expression is a form, or an item: ``self`` for ``self[i]``."""
    return variable_of(node.object if isinstance(node, Index) else node)


def _is_cast(node: Expr, names: Collection[str]) -> bool:
    """Whether an expression is a tensor with the dtype of one with these names: ``x.to(grad.scalar_type())``."""
    match unparenthesized(node):
        case Call(callee=Member(name=name), args=(like, *_)) if name in CASTING:
            match like:
                case Call(callee=Member(object=tensor, name="scalar_type" | "dtype" | "options")):
                    like = tensor
            return variable_of(like) in names
        case _:
            return False


def _is_calculated(formula: TypedFormula, node: Expr) -> bool:
    """Whether an expression is a tensor with a minus, or one that is combined with a number."""
    node = unparenthesized(node)
    if isinstance(node, Unary):
        return node.op == "-" and formula.type_of(node) is TENSOR
    if not isinstance(node, Binary) or node.op not in ARITHMETIC or formula.type_of(node) is not TENSOR:
        return False
    return any(isinstance(unparenthesized(side), Number) for side in (node.left, node.right))


def converted_flags(interpretation: Interpretation) -> Iterator[ArgumentMismatch]:
    """The flags that C++ converts to numbers or lists for a parameter, and the other way round; one for each call."""
    formula = interpretation.formula
    for call in interpretation.calls:
        for argument in call.arguments:
            if _is_converted(formula, argument):
                yield ArgumentMismatch(MismatchKind.FLAG_AND_NUMBER, formula, call, (argument,), ())
                break


def _is_converted(formula: TypedFormula, argument: CallArgument) -> bool:
    """Whether C++ converts a flag to a number or list for a parameter, or a number to a flag."""
    if argument.parameter is None:
        return False
    node, declared = unparenthesized(argument.node), argument.parameter.type.unreferenced
    type = formula.type_of(node)
    if isinstance(node, Name):
        return (type is BOOL and declared in TAKING_FLAGS) or (type in NUMBERS and declared is BOOL)
    # "-keepdim" and "keepdim * 2" are integers
    is_number = isinstance(node, (Unary, Binary)) and node.op in ARITHMETIC and type in PROMOTED
    return is_number and declared is BOOL


#: The suffix of flags for whether a function gets its input or its result,
IS_RESULT = "is_result"
#: and the parameters that they are about.
FLAGGED = ("self", "self_or_result")


def contradicted_flags(interpretation: Interpretation) -> Iterator[ArgumentMismatch]:
    """The literals for whether a function is passed its input or its result that contradict the tensor passed."""
    formula = interpretation.formula
    function = formula.written.entry.function
    outputs = {output.name for output in function.outputs} if function is not None else set()
    for call in interpretation.calls:
        flag = tensor = None
        for argument in call.arguments:
            name = argument.parameter.name if argument.parameter is not None else ""
            if name.endswith(IS_RESULT):
                flag = argument
            elif name in FLAGGED:
                tensor = argument
        variable = variable_of(tensor.node) if tensor is not None else None
        if flag is not None and tensor is not None and function is not None and variable is not None:
            # the forward formula of an in-place operator reads the result as "self_p"
            is_overwritten = not formula.is_backward and function.canonical.schema.kind is SchemaKind.inplace
            is_argument = variable.removesuffix(PRIMAL) in function.tensor_arguments and not is_overwritten
            is_result = not is_argument and (variable in outputs or variable == "self" + PRIMAL)
            if is_argument != is_result and formula.source_of(flag.node) == str(is_argument).lower():
                yield ArgumentMismatch(MismatchKind.RESULT_FLAG, formula, call, (flag, tensor), (variable,))


INTEGERS = types("int64_t SymInt")
NUMBERS = INTEGERS | {DOUBLE}
#: Numbers, and what C++ calculates with flags in.
PROMOTED = NUMBERS | types("int")
#: Numbers, and lists that one converts to.
TAKING_FLAGS = NUMBERS | types("ArrayRef<int64_t> ArrayRef<SymInt>")
#: Parameters for indices.
INDEX = ("index", "indices", "pivots", "LU_pivots")
#: Parameters for indices or masks.
INDICES = frozenset({"index", "indices", "mask"})


def output_mismatches(interpretation: Interpretation) -> Iterator[ArgumentMismatch]:
    """The outputs that are probably meant for another parameter; at most one for each call."""
    formula = interpretation.formula
    function = formula.written.entry.function
    if function is None or len(function.outputs) < 2:
        return
    positions = {output.name: index for index, output in enumerate(function.outputs)}
    for call in interpretation.calls:
        if call.function is None:
            continue
        passed = [
            (argument, name)
            for argument in call.arguments
            if argument.parameter is not None and (name := _output(argument.node, positions)) is not None
        ]
        mismatch = _not_discrete(function, passed, positions)
        if mismatch is None and not call.function.operators and _is_of_derivatives(call):
            mismatch = _repeated_outputs(passed) or _disordered_outputs(call, passed)
        if mismatch is not None:
            kind, arguments, names = mismatch
            yield ArgumentMismatch(kind, formula, call, arguments, names)


Mismatch = tuple[MismatchKind, tuple[CallArgument, ...], tuple[str, ...]]


def _output(node: Expr, positions: dict[str, int]) -> str | None:
    """The output that an expression is or views: ``result1`` for ``result1.flatten(-2)``."""
    while True:
        node = unparenthesized(node)
        if isinstance(node, Call) and isinstance(node.callee, Member) and node.callee.name in VIEWS:
            node = node.callee.object
        elif isinstance(node, Index):
            node = node.object
        else:
            return node.simple if isinstance(node, Name) and node.simple in positions else None


def _not_discrete(
    function: EntryFunction, passed: list[tuple[CallArgument, str]], positions: dict[str, int]
) -> Mismatch | None:
    discrete = [name for name, index in positions.items() if discrete_kind(function.canonical, index) is not None]
    for argument, name in passed:
        parameter = argument.parameter
        if discrete and name not in discrete and parameter is not None and parameter.name in INDICES:
            return MismatchKind.NOT_DISCRETE, (argument,), (name, discrete[0])
    return None


def _repeated_outputs(passed: list[tuple[CallArgument, str]]) -> Mismatch | None:
    seen: dict[str, CallArgument] = {}
    for argument, name in passed:
        if name in seen:
            return MismatchKind.REPEATED_VALUE, (argument, seen[name]), (name,)
        seen[name] = argument
    return None


def _disordered_outputs(call: CallFacts, passed: list[tuple[CallArgument, str]]) -> Mismatch | None:
    """A pair of outputs in the wrong order, ``result2`` just before ``result1``."""
    order = {id(argument): index for index, argument in enumerate(call.arguments)}
    for (first, earlier), (second, later) in pairwise(passed):
        position, next_position = generic_output_index(earlier), generic_output_index(later)
        if position is None or next_position is None or order[id(second)] != order[id(first)] + 1:
            continue
        if position > next_position:
            return MismatchKind.OUTPUT_DISORDER, (first, second), (earlier, later)
    return None
