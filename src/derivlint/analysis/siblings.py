"""Related entries and operators: forms of one operator, and entries with nearly equal formulas."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from derivlint.formula import Call, Member, Name, Token, tokens, walk
from derivlint.formula.vocabulary import TRIVIA, words
from derivlint.model import DerivativeFormula, Entry, Model, Role
from derivlint.model.generated.forward import PRIMAL
from derivlint.model.index import BY_BASE, EntryIndex, Nothing
from derivlint.model.keys import AUTO_ELEMENT_WISE
from derivlint.operators.special import CONTIGUOUS
from derivlint.schema import NativeFunction, SchemaKind
from derivlint.source.lazy import cached_property

SELF_PRIMAL = "self" + PRIMAL


class MainForm(Struct, frozen=True):
    """The main form of an operator, which lacks a derivative although an entry gives one to another form.

    Attributes:
        entry: the entry of the other form.
        function: the main form.
        is_inplace: whether the entry's form is the in-place one rather than another overload.
    """

    entry: Entry
    function: NativeFunction
    is_inplace: bool


def main_form_without_derivative(model: Model, entry: Entry) -> MainForm | None:
    """The main form of an entry's operator, if nothing gives it a derivative.

    The main form of an in-place operator is the functional one, to which the entry does not apply; that of a named
    overload is the unnamed one, if the file is PyTorch's complete one.
    """
    if entry.function is None or not any(body.info is not None and body.info.has_derivatives for body in entry.bodies):
        return None
    function = entry.function.canonical
    if function.has_composite_implicit_autograd_kernel or _needs_old_self(entry):
        return None
    if len(model.entries_for(function)) > 1:
        # an entry for the wrong form, which has another entry: reported at the second entry
        return None
    if entry.function.is_inplace:
        signature = function.schema.signature(strip_default=True)
        for candidate in model.natives.with_base(function.name.base):
            is_functional = candidate.schema.kind is SchemaKind.functional and not candidate.name.functional_overload
            if (
                is_functional
                and candidate.schema.signature(strip_default=True) == signature
                and _lacks(model, candidate)
            ):
                return MainForm(entry, candidate, True)
    elif function.name.overload and model.is_pytorchs_own:
        main = model.natives.operator(function.name.base)
        # with several entries of one name, the main form may have its entry by mistake
        is_only_entry = len(model.values_in(BY_BASE, function.name.base)) == 1
        if main is not None and main is not function and is_only_entry and _lacks(model, main):
            return MainForm(entry, main, False)
    return None


def _needs_old_self(entry: Entry) -> bool:
    """Whether a forward formula needs the overwritten value of an in-place operator, which other rules report."""
    if entry.function is None or not entry.function.is_inplace:
        return False
    for formula in entry.formulas:
        if formula.role is not Role.FORWARD:
            continue
        tree = formula.parsed.tree
        if formula.auto == AUTO_ELEMENT_WISE:
            return True
        if tree is not None and any(isinstance(node, Name) and node.simple == SELF_PRIMAL for node in walk(tree)):
            return True
    return False


def _lacks(model: Model, function: NativeFunction) -> bool:
    """Whether an operator needs a derivative and has none, and the file does not declare that."""
    if function.has_composite_implicit_autograd_kernel or not function.is_abstract:
        return False
    if model.book.is_declared_undifferentiable(function) or function.generated:
        return False
    takes_tensors = any(argument.type.is_tensor_like for argument in function.schema.arguments.flat_non_out)
    returns_tensors = any(item.type.is_tensor_like for item in function.schema.returns)
    match = model.match(function)
    return takes_tensors and returns_tensors and not match.infos and not match.problems


#: The suffixes of operators for parts of one operation.
PARTS = ("_forward", "_double_backward", "_backward")
#: The number of operators with the same first word that are evidence.
ENOUGH = 3


def _declarations(entry: Entry) -> Iterator[tuple[str, str]]:
    """The arguments that an entry declares ``non_differentiable``, under the first word of its operator."""
    if entry.function is not None:
        operation = _operation(entry.function.canonical.name.base)
        declarations = [formula for formula in entry.formulas if formula.role is Role.NON_DIFFERENTIABLE]
        for name in dict.fromkeys(name.text for formula in declarations for name in formula.names):
            yield f"{_first_word(operation)} {name}", operation


#: The entries by first word of the operator and declared argument; the value is the operation.
BY_DECLARATION: EntryIndex[str] = EntryIndex(f"{__name__}:BY_DECLARATION", _declarations)


def declaring_sibling(model: Model, entry: Entry, argument: str, *, without_own: bool = True) -> Entry | None:
    """The entry of a sibling operator that declares an argument with this name ``non_differentiable``.

    Siblings are overloads, forward and backward operators of one operation, and operators for other dimensions or
    libraries. Operators with the same first word are siblings if both entries declare another argument, or if there are
    three.

    Args:
        model: the file.
        entry: the entry without a key for the argument.
        argument: the name of the argument.
        without_own: whether to look for siblings even if the entry declares no argument.
    """
    if entry.function is None:
        return None
    operation = _operation(entry.function.canonical.name.base)
    key = f"{_first_word(operation)} {argument}"
    operations = model.values_in(BY_DECLARATION, key)
    if not operations:
        return None
    own = {declared for declared, _ in _declarations(entry)}
    is_usual = without_own and len(operations) >= ENOUGH
    siblings = zip(model.entries_in(BY_DECLARATION, key), operations, strict=True)
    for sibling, name in sorted(siblings, key=lambda item: item[1] != operation):
        is_closest = without_own and name == operation
        if sibling is not entry and (is_closest or is_usual or own & {shared for shared, _ in _declarations(sibling)}):
            return sibling
    return None


def _operation(base: str) -> str:
    """The name shared by operators for parts of one operation, other dimensions and other libraries."""
    name = common_name(base)[0].replace("Nd", "").removeprefix("<library>_").strip("_")
    for part in PARTS:
        name = name.removesuffix(part)
    return name


def _first_word(operation: str) -> str:
    return operation.partition("_")[0]


#: Libraries and back ends in operator names, whose entries are alike.
VENDORS = words("cudnn miopen mps mkldnn npu")
DIMENSIONS = ("1d", "2d", "3d")
#: The maximum number of earlier siblings to compare a formula with; PyTorch has at most 15.
MAX_SIBLINGS = 32
STRING = "STRING"


class OddPart(Struct, frozen=True):
    """A difference between the formulas of two siblings.

    Attributes:
        written: the later formula.
        start: the start offset of the part.
        end: the end offset of the part.
        sibling: the earlier formula.
        counterpart: the offsets of the corresponding part.
        is_only: whether the formulas have no other difference.
    """

    written: DerivativeFormula
    start: int
    end: int
    sibling: DerivativeFormula
    counterpart: tuple[int, int]
    is_only: bool

    @property
    def text(self) -> str:
        """The text of the part."""
        return (self.written.text or "")[self.start : self.end]

    @property
    def sibling_text(self) -> str:
        """The text of the corresponding part."""
        return (self.sibling.text or "")[slice(*self.counterpart)]


def _family(entry: Entry) -> str | None:
    """The key shared by entries of sibling operators, or None if there are none."""
    if entry.function is None or len(entry.bodies) != 1:
        return None
    name = entry.function.canonical.name
    return f"{common_name(name.name_without_overload)[0]}.{name.overload}"


def _families(entry: Entry) -> Iterator[tuple[str, Nothing]]:
    family = _family(entry)
    if family is not None:
        yield family, ()


#: The entries by the key that sibling operators share.
BY_FAMILY: EntryIndex[Nothing] = EntryIndex(f"{__name__}:BY_FAMILY", _families)


def odd_parts(model: Model, entry: Entry) -> Iterator[OddPart]:
    """The parts in which formulas of an entry differ from those of siblings, in file order.

    The names of siblings differ only in the number of dimensions (``max_pool2d``, ``max_pool3d``) or the library
    (``cudnn_batch_norm``, ``miopen_batch_norm``). Numbers of dimensions do not count as differences. A part is a token,
    or a method call or argument that only one formula has, such as ``contiguous``, and the only difference; or a
    memory format that only one formula passes, whatever else differs.
    """
    family = _family(entry)
    if family is None or len(model.values_in(BY_FAMILY, family)) < 2:
        return
    groups = model.ask(_formulas_of_family, model, family)
    odd = []
    for formula in entry.formulas:
        group = groups.get(formula.key_text, {})
        own = group.get(_name(entry))
        if own is None or own.written is not formula:
            continue
        earlier = list(islice(group.values(), own.position))
        for first in earlier[-MAX_SIBLINGS:]:
            only = _odd_part(first, own)
            for counterpart, (start, end) in [only] if only is not None else _memory_formats(first, own):
                odd.append(OddPart(formula, start, end, first.written, counterpart, only is not None))
    yield from sorted(odd, key=lambda part: (part.written.value_span.start, part.start))


def _formulas_of_family(model: Model, family: str) -> dict[str, dict[str, _Sibling]]:
    """The formulas of sibling operators, by key and operator name; of equal entries the first counts."""
    by_key: dict[str, dict[str, _Sibling]] = {}
    for entry in model.entries_in(BY_FAMILY, family):
        assert entry.function is not None
        dimensions = common_name(entry.function.canonical.name.name_without_overload)[1]
        name = _name(entry)
        for formula in entry.formulas:
            if formula.is_expression and formula.text is not None:
                group = by_key.setdefault(formula.key_text, {})
                if name not in group:
                    group[name] = _Sibling(formula, dimensions, len(group))
    return by_key


def _name(entry: Entry) -> str:
    return (entry.operator or "").partition(".")[0]


def common_name(name: str) -> tuple[str, str]:
    """A name without library and dimensions, and its number of dimensions or ``""``."""
    dimensions = next((dimension for dimension in DIMENSIONS if dimension in name), "")
    if dimensions:
        name = name.replace(dimensions, "Nd")
    parts = ["<library>" if part in VENDORS else part for part in name.split("_")]
    return "_".join(parts), dimensions.removesuffix("d")


class _Sibling:
    """A formula of a sibling operator, and the number of earlier ones in the file."""

    def __init__(self, formula: DerivativeFormula, dimensions: str, position: int) -> None:
        self.written = formula
        self.dimensions = dimensions
        self.position = position

    @cached_property
    def tokens(self) -> list[Token]:
        """The significant tokens; texts of messages do not count."""
        return [token for token in tokens(self.written.text or "") if token.type not in TRIVIA and token.type != STRING]

    @property
    def contiguous(self) -> dict[str, tuple[bool, tuple[int, int]]]:
        """Whether the first ``contiguous`` of each variable is passed a memory format, and the offsets of the call."""
        calls: dict[str, tuple[bool, tuple[int, int]]] = {}
        tree = self.written.parsed.tree
        for node in walk(tree) if tree is not None else ():
            match node:
                case Call(callee=Member(object=Name(simple=str(variable)), name=name, name_start=start), args=args) if (
                    name == CONTIGUOUS
                ):
                    calls.setdefault(variable, (bool(args), (start, node.end)))
        return calls

    def range(self, first: int, end: int) -> tuple[int, int]:
        """The range of tokens in the formula."""
        return self.tokens[first].start, self.tokens[end - 1].end


def _odd_part(first: _Sibling, second: _Sibling) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """The offsets of the only difference in both formulas, which may be repeated."""
    if len(first.tokens) == len(second.tokens):
        differing: dict[tuple[str, str], int] = {}
        for at, (one, twin) in enumerate(zip(first.tokens, second.tokens, strict=True)):
            if not _is_same(one, first, twin, second):
                differing.setdefault((one.text, twin.text), at)
        if len(differing) != 1:
            return None
        (at,) = differing.values()
        return first.range(at, at + 1), second.range(at, at + 1)
    if len(first.tokens) > len(second.tokens):
        part, counterpart = _inserted(second, first) or (None, None)
        return (counterpart, part) if part is not None and counterpart is not None else None
    return _inserted(first, second)


def _inserted(shorter: _Sibling, longer: _Sibling) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """The offsets of a value and of a method call on it, or of calls without and with argument."""
    extra = len(longer.tokens) - len(shorter.tokens)
    pairs = list(zip(shorter.tokens, longer.tokens, strict=False))
    start = next((at for at, (one, twin) in enumerate(pairs) if not _is_same(one, shorter, twin, longer)), len(pairs))
    rest = zip(shorter.tokens[start:], longer.tokens[start + extra :], strict=True)
    if start < 2 or not all(_is_same(one, shorter, twin, longer) for one, twin in rest):
        return None
    inserted = [token.text for token in longer.tokens[start : start + extra]]
    if inserted[0] == "." and inserted[-1] == ")":
        return shorter.range(start - 1, start), longer.range(start - 1, start + extra)
    if [token.text for token in shorter.tokens[start - 1 : start + 1]] == ["(", ")"]:
        return shorter.range(start - 2, start + 1), longer.range(start - 2, start + extra + 1)
    return None


def _memory_formats(first: _Sibling, second: _Sibling) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """The offsets of ``contiguous`` in both formulas, where only one passes a memory format for the same tensor.

    ``miopen_batch_norm`` of PyTorch 2.1 to 2.9 also differs from ``cudnn_batch_norm`` in other arguments.
    """
    counterparts = first.contiguous
    for variable, (has_format, part) in second.contiguous.items():
        sibling_has_format, counterpart = counterparts.get(variable, (has_format, part))
        if sibling_has_format != has_format:
            yield counterpart, part


def _is_same(token: Token, sibling: _Sibling, twin: Token, twins: _Sibling) -> bool:
    """Whether two tokens are equal except for the library or the number of dimensions."""
    if token.text == twin.text:
        return True
    if token.text.isdecimal() and twin.text.isdecimal():
        return bool(sibling.dimensions) and (token.text, twin.text) == (sibling.dimensions, twins.dimensions)
    return common_name(token.text)[0] == common_name(twin.text)[0]
