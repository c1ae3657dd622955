"""Candidates by derivation: from linearity, from backward formulas, and from reference definitions.

Forward formulas have three sources, in this order: ``auto_linear``, ``auto_element_wise`` and sums of calls of the
operator itself, one for each factor of a product, if the operator book has it as linear; the backward formulas with
tangents in place of gradients, for elementwise functions; and the tangent of the reference definition
(:mod:`derivlint.repair.linearization`). The judge decides which of them is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from derivlint.analysis.differentiability.operators import is_refusal
from derivlint.analysis.interpretation.operators import is_zero
from derivlint.cpp.operator_signatures import with_symint
from derivlint.formula import Binary, Call, Conditional, Expr, Index, Member, Name, Parenthesized, Unary, walk
from derivlint.formula.vocabulary import words
from derivlint.graph.differentiation.entries import Entries, model_of_book
from derivlint.model import Derivative, DifferentiabilityInfo, Model
from derivlint.model.differentiable import Differentiability
from derivlint.model.generated.forward import ORIGINAL_PRIMAL, PRIMAL, TANGENT
from derivlint.model.keys import AUTO_ELEMENT_WISE, AUTO_LINEAR
from derivlint.model.words import substitute
from derivlint.operators import Book
from derivlint.operators.reference.definitions import Definition, definitions, operator_named, reasons
from derivlint.operators.reference.derived import derived
from derivlint.operators.reference.terms import Polynomial, polynomials
from derivlint.repair.candidates import Candidate, Target
from derivlint.repair.dual_text import NO_VALUE, DualText, UnsupportedError, as_optional
from derivlint.repair.linearization import Linearizer
from derivlint.schema import Argument, NativeFunction, OptionalType, load_index

GRAD = "grad"
#: The cost of the operator book's formula: calls of helpers are likelier, since they name the mistake.
BOOK = 3.5
#: Methods that read no tensor elements.
_METADATA = words("""
    sizes sym_sizes size sym_size numel sym_numel strides sym_strides layout options scalar_type dim defined is_complex
    device sym_blocksize suggest_memory_format requires_grad
""")
_POINTWISE = "pointwise"


def derived_formulas(target: Target, model: Model) -> Iterator[Candidate]:
    """Derive the formulas of a target, the simplest first."""
    derivation = derivation_of(target, model)
    if derivation is not None:
        for cost, text in derivation.formulas(target.key):
            yield Candidate(text, "derivation", cost + len(text) / 1000)


def derivation_of(target: Target, model: Model) -> Derivation | None:
    """The derivation of an entry's formulas, or None if its operator is unknown."""
    entry, info = target.body.entry, target.body.info
    if entry.function is None or info is None:
        return None
    match = model.match(entry.function.canonical)
    resolved = Differentiability(match, target.body.key) if target.body.key in match.infos else None
    return Derivation(model, entry.function.canonical, info, resolved)


class Derivation:
    """Derives the formulas of one entry.

    Attributes:
        reasons: why sources gave nothing.
    """

    def __init__(
        self, model: Model, function: NativeFunction, info: DifferentiabilityInfo, resolved: Differentiability | None
    ) -> None:
        self._model = model
        self._function = function
        self._info = info
        self._resolved = resolved
        self._arguments = function.schema.arguments.flat_non_out
        self._moving = [argument.name for argument in info.args_with_derivatives]
        self._definition = operator_named(function)
        self._base = function.name.element_base if function.name.is_foreach else function.name.base
        functions = model.natives.named(self._base) if function.name.is_foreach else (function,)
        self._is_complex = any(map(model.book.takes_complex, functions))
        self.reasons: list[str] = []

    def is_forward(self, key: str) -> bool:
        """Whether a key is that of an output."""
        return key not in {name for derivative in self._info.derivatives for name in derivative.var_names} | {
            argument.name for argument in self._arguments
        }

    def formulas(self, key: str) -> Iterator[tuple[float, str]]:
        """The formulas under a key, each with its cost."""
        yield from self.forward(key) if self.is_forward(key) else self.backward(key)
        for entry in model_of_book(self._model.natives).entries:
            if entry.operator == str(self._function.name):
                yield from (
                    (BOOK, formula.text) for formula in entry.formulas if formula.key_text == key and formula.text
                )

    # ---- forward

    def forward(self, key: str) -> Iterator[tuple[float, str]]:
        """The forward formulas of an output, each with its cost."""
        outputs = self._function.schema.returns
        if self._definition is None and self._base in reasons():
            self.reasons.append(f"it {reasons()[self._base]}")
            return
        if str(self._function.name) in Book.by_hand("without-duals"):
            self.reasons.append(
                "PyTorch makes no duals of the nested or compressed sparse tensors that it takes or gives"
            )
            return
        refused = [name for name, reason in self._refused()]
        if refused and self._definition is None:
            self.reasons.append(f'its gradient for "{refused[0]}" is not implemented')
            return
        if self._moving and self._base in Book.by_hand("drawn"):
            tangent = self._moving[0] + TANGENT
            yield 0.0, f"{tangent}.zero_()" if self._function.name.inplace else f"at::zeros_like({tangent})"
            return
        place = next((place for place, item in enumerate(outputs) if key in (item.name, f"result{place}")), 0)
        if place == 0:
            yield from self._linear()
            yield from self._from_backward(key)
        yield from self._from_definition(place, key)

    def _refused(self) -> Iterator[tuple[str, str]]:
        """The arguments whose gradients only raise."""
        for derivative in self._info.derivatives:
            if derivative.written is not None and is_refusal(derivative.written.parsed.tree):
                yield from ((name, derivative.original_formula) for name in derivative.var_names)

    def _polynomial(self) -> Polynomial | None:
        base = self._base
        polynomial = polynomials().get(base)
        if polynomial is None:
            facts = derived(base)
            polynomial = facts.outputs[0] if facts is not None and len(facts.outputs) == 1 else None
        if polynomial is not None and len(polynomial.parameters) == 1 and len(self._moving) == 1:
            # the first argument, under whatever name
            (term,) = polynomial.terms or (None,)
            if term is not None and term.factors == polynomial.parameters:
                first = self._arguments[0].name
                return Polynomial((first,), (type(term)((first,)),)) if first == self._moving[0] else None
        return polynomial

    def _linear(self) -> Iterator[tuple[float, str]]:
        """Calls of the operator itself with tangents, without constant terms."""
        constants = {item.name: absent for item in self._arguments if (absent := self._unread(item))}
        polynomial = self._polynomial()
        if self._is_constant_in_values() or (polynomial is not None and self._is_linear(polynomial)):
            if (
                not set(constants.values()) - {NO_VALUE}
                and len(self._function.schema.returns) == 1
                and not self._function.name.is_foreach
            ):
                yield 0.0, AUTO_LINEAR
            constants = {name: value for name, value in constants.items() if value != NO_VALUE}
            yield 0.1, self._call({**{name: name + TANGENT for name in self._moving}, **constants})
        elif polynomial is not None:
            products = [[name for name in term.factors if name in self._moving] for term in polynomial.terms]
            moved = [name for term in products for name in term]
            curved = {name for term in polynomial.terms for name in (*term.divisors, *term.unclear)}
            if sorted(moved) == sorted(self._moving) and not curved & set(self._moving):
                yield 0.2, " + ".join(self._products(polynomial, products, constants))

    def _is_linear(self, polynomial: Polynomial) -> bool:
        """Whether an operator is jointly linear in all differentiable arguments."""
        factors = [[name for name in term.factors if name in self._moving] for term in polynomial.terms]
        plain = not any(term.divisors or term.unclear for term in polynomial.terms)
        return plain and sorted(factors) == sorted([name] for name in self._moving)

    def _is_constant_in_values(self) -> bool:
        """Whether the gradients depend on no values, so that the function is linear up to a constant."""
        names = {*self._moving, "result", *(item.name for item in self._function.schema.returns if item.name)}
        names |= {f"result{place}" for place in range(len(self._function.schema.returns))}
        written = [derivative.written for derivative in self._info.derivatives]
        if not written or any(formula is None or formula.parsed.tree is None for formula in written):
            return False
        return not any(
            _reads(formula.parsed.tree, names)
            for formula in written
            if formula is not None and formula.parsed.tree is not None
        )

    def _unread(self, argument: Argument) -> str:
        """The value for an argument that no gradient reads, so that it is only added; empty for other arguments."""
        is_number = str(argument.type) in ("float", "Scalar")
        if argument.name in self._moving or not (is_number or str(argument.type) == "Tensor?"):
            return ""
        written = (derivative.written for derivative in self._info.derivatives)
        trees = [formula.parsed.tree for formula in written if formula is not None and formula.parsed.tree is not None]
        if any(isinstance(node, Name) and node.simple == argument.name for tree in trees for node in walk(tree)):
            return ""
        return "0" if is_number else NO_VALUE

    def _products(
        self, polynomial: Polynomial, products: Sequence[Sequence[str]], constants: Mapping[str, str]
    ) -> Iterator[str]:
        """A call for each factor of a product; terms of one factor go into the first."""
        singles = {term[0]: polynomial.terms[place] for place, term in enumerate(products) if len(term) == 1}
        factors = [name for term in products if len(term) > 1 for name in term]
        for number, factor in enumerate(factors):
            names = {**{name: name + PRIMAL for name in self._moving}, **constants}
            names[factor] = factor + TANGENT
            for single, term in singles.items():
                coefficient = next((name for name in term.factors if name != single), None)
                if number == 0:
                    names[single] = single + TANGENT
                elif coefficient is not None:
                    names[coefficient] = "0"
                else:
                    argument = next(item for item in self._arguments if item.name == single)
                    absent = isinstance(argument.type, OptionalType)
                    names[single] = NO_VALUE if absent else f"at::zeros_like({single}{PRIMAL})"
            yield self._call(names)

    def _call(self, names: Mapping[str, str]) -> str:
        """A call of the operator itself."""
        arguments = []
        for item in self._arguments:
            text = names.get(item.name, item.name)
            is_undefined = isinstance(item.type, OptionalType) and text in (item.name + PRIMAL, item.name + TANGENT)
            arguments.append(as_optional(text, self._base)[0] if is_undefined else text)
        function = self._function
        if function.name.is_foreach:
            return f"at::{self._base}({', '.join(arguments)})"
        name = function.cpp_name.removesuffix("_") if function.name.inplace else function.cpp_name
        callee = with_symint(name) if function.schema.has_symint else name
        text = f"at::{callee}({', '.join(arguments)})"
        if "function" not in function.variants:
            text = f"{arguments[0]}.{callee}({', '.join(arguments[1:])})"
        return text if len(function.schema.returns) == 1 else f"std::get<0>({text})"

    def _from_backward(self, key: str) -> Iterator[tuple[float, str]]:
        """The backward formulas with tangents for gradients, which is right for elementwise functions."""
        derivatives = self._info.derivatives
        if not derivatives or any(len(item.var_names) != 1 or item.written is None for item in derivatives):
            return
        pointwise = [self._is_pointwise(derivative) for derivative in derivatives]
        if all(pointwise) and len(derivatives) == 1 and not self._function.name.is_foreach:
            yield 0.2, AUTO_ELEMENT_WISE
        polynomial = self._polynomial()
        linear = {name for term in polynomial.terms for name in term.factors} if polynomial is not None else set()
        parts = []
        for derivative, scales in zip(derivatives, pointwise, strict=True):
            (name,) = derivative.var_names
            if is_zero(derivative):
                continue
            if scales:
                parts.append(self._moved(derivative, name))
            elif name in linear:
                parts.append(self._call({**{item: item + PRIMAL for item in self._moving}, name: name + TANGENT}))
            else:
                self.reasons.append(f'its gradient for "{name}" mixes elements')
        if parts and len(parts) == sum(not is_zero(derivative) for derivative in derivatives):
            yield 0.4, " ".join([parts[0], *(f"- {part[1:]}" if part[0] == "-" else f"+ {part}" for part in parts[1:])])
        elif len(derivatives) == 1 and any(argument.name == "reduction" for argument in self._arguments):
            # a loss: the gradients of its rows do not meet
            (derivative,) = derivatives
            (name,) = derivative.var_names
            slope = self._moved(derivative, name, f"at::ones_like({key})")
            # of a vector there is one row, and the loss may have its dimension
            rows = f"({slope} * {name}{TANGENT}).sum(-1).view_as({key})"
            yield 0.5, f"{key}.dim() == 0 ? ({slope} * {name}{TANGENT}).sum() : {rows}"

    def _moved(self, derivative: Derivative, name: str, tangent: str = "") -> str:
        """A backward formula with a tangent in place of the gradient."""
        is_foreach = self._function.name.is_foreach
        names = {argument: argument + PRIMAL for argument in self._moving}
        if self._function.name.inplace:
            # the kernel has overwritten "self"
            names["self"] = ORIGINAL_PRIMAL
        names["grads" if is_foreach else GRAD] = tangent or name + TANGENT
        if self._is_complex:
            names["grads" if is_foreach else GRAD] += ".conj()"
        text = derivative.original_formula
        if is_foreach:
            # the elements of lists are unpacked already
            for element in ("grads", *self._moving):
                text = text.replace(f"{element}[i]", element)
        text = substitute(text, names).text
        if not self._is_complex:
            return text
        is_call = derivative.written is not None and isinstance(derivative.written.parsed.tree, Call)
        return f"{text}.conj()" if is_call else f"({text}).conj()"

    def _is_pointwise(self, derivative: Derivative) -> bool:
        formula = derivative.written
        tree = formula.parsed.tree if formula is not None else None
        return tree is not None and self._scales(tree)

    def _scales(self, tree: Expr) -> bool:
        """Whether an expression multiplies the gradient elementwise."""
        if isinstance(tree, Index):
            return isinstance(tree.object, Name) and tree.object.simple == "grads" and self._function.name.is_foreach
        if isinstance(tree, Name):
            return tree.simple == GRAD
        if isinstance(tree, (Unary, Parenthesized)):
            return self._scales(tree.operand if isinstance(tree, Unary) else tree.inner)
        if isinstance(tree, Binary):
            left, right = self._scales(tree.left), self._scales(tree.right)
            if tree.op in ("*", "/"):
                return left != right
            return tree.op in "+-" and left and right
        if isinstance(tree, Conditional):
            return self._scales(tree.then) and self._scales(tree.otherwise)
        if not isinstance(tree, Call):
            return False
        callee = tree.callee
        name = (
            callee.name
            if isinstance(callee, Member)
            else callee.parts[-1].identifier
            if isinstance(callee, Name)
            else ""
        )
        arguments = [callee.object, *tree.args] if isinstance(callee, Member) else tree.args
        if [self._scales(argument) for argument in arguments].count(True) != 1:
            return False
        if name in definitions():
            return _scales_first(name)
        functions = self._model.natives.named(name)
        return name in _SCALING or any(_POINTWISE in function.tags for function in functions)

    def _from_definition(self, place: int, key: str) -> Iterator[tuple[float, str]]:
        if self._definition is None:
            self.reasons.append("it has no reference definition")
            return
        if str(self._function.name) in Book.by_hand("other-layouts"):
            self.reasons.append("it takes sparse or nested tensors, and its reference definition is of dense ones")
            return
        entries = Entries(self._model)
        try:
            names: dict[str, str] = {}
            primals = self._linearized(Linearizer(entries, is_complex=self._is_complex), moving=False)
            for number, value in enumerate(primals.items or (primals,)):
                if value.primal is not None and value.primal[1] == 8:
                    names[value.primal[0]] = key if number == place else f"result{number}"
            value = self._linearized(Linearizer(entries, names, is_complex=self._is_complex), moving=True)
            value = value.items[place] if value.items is not None else value
        except UnsupportedError as error:
            self.reasons.append(str(error))
            return
        except IndexError:
            self.reasons.append(f'its definition has no "{key}"')
            return
        if value.tangent is None:
            self.reasons.append("its definition has no tangent")
            return
        yield 0.6, value.tangent[0]

    def _linearized(self, linearizer: Linearizer, *, moving: bool) -> DualText:
        assert self._definition is not None
        arguments = {}
        for argument in self._arguments:
            name = argument.name
            absent = isinstance(argument.type, OptionalType)
            if name in self._moving:
                tangent = (name + TANGENT, 8) if moving else None
                arguments[name] = DualText((name + PRIMAL, 8), tangent, may_be_absent=absent)
            else:
                is_scalar = str(argument.type) == "Scalar"
                arguments[name] = DualText((name, 8), may_be_absent=absent, is_scalar=is_scalar)
        names = self._definition.parameters
        return linearizer.of(self._definition, {name: arguments[name] for name in names if name in arguments})

    # ---- backward

    def backward(self, key: str) -> Iterator[tuple[float, str]]:
        """The backward formulas of an argument, each with its cost."""
        if self._base in Book.by_hand("drawn"):
            yield 0.0, f"zeros_like({GRAD})"
            yield 0.1, f"zeros_like({key})"
            return
        if self._definition is None:
            self.reasons.append("it has no reference definition")
            return
        if self._is_complex or not all(map(_keeps_elements, _leaves(self._definition))):
            self.reasons.append("its definition mixes elements or is complex, and only tangents are derived then")
            return
        names = {
            argument.name: DualText((argument.name, 8), is_scalar=str(argument.type) == "Scalar")
            for argument in self._arguments
        }
        names[key] = DualText((key, 8), (GRAD, 8))
        names = {name: value for name, value in names.items() if name in self._definition.parameters}
        try:
            value = Linearizer(Entries(self._model), is_complex=self._is_complex).of(self._definition, names)
            own = value.primal
            if own is not None and own[1] == 8:
                value = Linearizer(Entries(self._model), {own[0]: "result"}, is_complex=self._is_complex).of(
                    self._definition, names
                )
        except UnsupportedError as error:
            self.reasons.append(str(error))
            return
        if value.tangent is not None:
            # for an elementwise function the gradient is the tangent, up to conjugation
            yield 0.6, value.tangent[0]


@cache
def _scales_first(name: str) -> bool:
    """Whether a helper multiplies its first argument elementwise, according to its definition."""
    definition, facts = definitions().get(name), derived(name)
    if definition is None or facts is None:
        return False
    terms = [term for output in facts.outputs for term in output.terms]
    return all(definition.parameters[0] in term.factors for term in terms) and all(
        map(_keeps_elements, _leaves(definition))
    )


def _leaves(definition: Definition) -> set[str]:
    """The functions without definition that a definition calls, directly or indirectly."""
    seen: set[str] = set()
    pending = set(definition.called)
    while pending:
        name = pending.pop()
        seen.add(name)
        inner = definitions().get(name)
        pending |= (inner.called if inner is not None and name not in _ELEMENT_WISE else frozenset()) - seen
    return {name for name in seen if name not in definitions() or name in _ELEMENT_WISE}


@cache
def _keeps_elements(name: str) -> bool:
    """Whether a function is elementwise."""
    if name in _METADATA or name in _ELEMENT_WISE:
        return True
    functions = [function for function in load_index().named(name) if not function.schema.is_out]
    return bool(functions) and all(_POINTWISE in function.tags for function in functions)


#: Backward operators and conversions that preserve the positions of a gradient's elements.
_SCALING = Book.by_hand("scales-elements") | words("conj contiguous to")
#: Elementwise primitives of definitions.
_ELEMENT_WISE = words("""
    handle_r_to_c zeros_like equal is_number is_complex_tensor refuse value_or conj to full Tensor masked_fill real imag
    where
""")


def _reads(tree: Expr, names: set[str]) -> bool:
    """Whether an expression reads elements of a name, not only its sizes or type."""
    only_metadata = {
        id(node.callee.object)
        for node in walk(tree)
        if isinstance(node, Call) and isinstance(node.callee, Member) and node.callee.name in _METADATA
    }
    helpers = {
        id(argument)
        for node in walk(tree)
        if isinstance(node, Call) and isinstance(node.callee, Name)
        for place, argument in enumerate(node.args)
        if place and _reads_metadata_alone(node.callee.parts[-1].identifier, place)
    }
    return any(
        isinstance(node, Name) and node.simple in names and id(node) not in only_metadata | helpers
        for node in walk(tree)
    )


def _reads_metadata_alone(name: str, place: int) -> bool:
    facts = derived(name)
    if facts is not None and place < len(facts.parameters):
        return facts.parameters[place] in facts.only_metadata
    return place == 1 and name in Book.by_hand("like-second") | Book.by_hand("linear")
