"""The values that the forward call saves for a backward formula, and the formula over these values.

Follows torchgen/packaged/autograd/load_derivatives.py, ``saved_variables``: an expression over an argument that can be
evaluated when the node is created (``self.sym_sizes()``) becomes a saved attribute, and every other name is saved
itself. torchgen matches text; this module matches the syntax tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from derivlint.cpp.bindings import OPTIONS
from derivlint.cpp.cpp_type import cpp_type
from derivlint.cpp.types import (
    BOOL,
    INT64,
    SYM_INT,
    SYM_INT_LIST,
    TENSORS,
    DeclaredType,
    declared_type,
    optional_of,
    vector_of,
)
from derivlint.formula import Call, Edit, Formula, Member, Name, Node, Number, Unary, Word, apply_edits
from derivlint.model.words import NOT_A_VARIABLE
from derivlint.source.lazy import cached_property
from derivlint.source.records import KeyedEquality

TENSOR_VECTOR = cpp_type("vector<Tensor>")
#: The type that formulas use for a value saved as ``std::string``.
OPTIONAL_STRING_VIEW = cpp_type("optional<string_view>")
OPTIONAL_SYM_INT_LIST = optional_of(SYM_INT_LIST)
SCALAR_TYPE = declared_type("at::ScalarType")


class SavedAttribute(KeyedEquality, Struct, frozen=True):
    """A value that the forward call saves for the backward formula.

    Attributes:
        name: the node's member, ``self`` or ``self_sym_sizes``.
        type: its C++ type.
        expr: the expression that computes it at save time.
        accidental: whether the formula does not use the value: torchgen's text matching finds its name in a string or
            comment, as a member, or in a qualified name.
        word: its first use in the written formula.
    """

    name: str
    type: DeclaredType
    expr: str
    accidental: bool = False
    word: Word | None = None

    def identity(self) -> tuple[Any, ...]:
        """The fields that equality compares."""
        return self.name, self.type, self.expr

    @property
    def is_tensor(self) -> bool:
        """Whether the value is a tensor or an optional tensor."""
        return self.type.canonical in TENSORS

    @property
    def is_tensor_vector(self) -> bool:
        """Whether the value is a returned list of tensors."""
        return self.type.canonical is TENSOR_VECTOR


def without_repetition(attributes: list[SavedAttribute]) -> tuple[SavedAttribute, ...]:
    """Remove saved attributes with repeated names."""
    by_name: dict[str, SavedAttribute] = {}
    for attribute in attributes:
        by_name.setdefault(attribute.name, attribute)
    return tuple(by_name.values())


class Property(Struct, frozen=True):
    """A property of an argument that is saved instead of the argument.

    Attributes:
        spelling: the method with its operator (``.dim``, ``->sym_sizes``) or the function (``zeros_like``).
        suffix: the suffix of the saved attribute's name after the argument's.
        type: the saved attribute's C++ type.
        expr: the expression at save time, with ``{}`` for the argument; None for the expression as written.
        result: the replacement in the formula, with ``{}`` for the argument.
    """

    spelling: str
    suffix: str
    type: DeclaredType
    expr: str | None = None
    result: str | None = None

    @property
    def is_method(self) -> bool:
        """Whether the property is a method call on the argument."""
        return not self.spelling[0].isalpha()


#: The type of saved metadata for making zeros like a tensor.
TYPE_AND_SIZE = declared_type("torch::autograd::generated::TypeAndSize")
#: The saved properties, in torchgen's order, which determines the order of saved inputs.
PROPERTIES = (
    Property(".sym_sizes", "_sym_sizes", SYM_INT_LIST),
    Property(
        "->sym_sizes",
        "_sym_sizes_opt",
        OPTIONAL_SYM_INT_LIST,
        "{0}.has_value() ? std::optional<c10::SymIntArrayRef>({0}->sym_sizes()) : std::nullopt",
    ),
    Property(
        ".sym_blocksize", "_self_sym_blocksize_opt", OPTIONAL_SYM_INT_LIST, "at::sparse_csr::getSymIntBlockSize({0})"
    ),
    Property(".options", "_options", OPTIONS),
    Property("zeros_like", "_info", TYPE_AND_SIZE, "{0}", "{0}_info.zeros()"),
    Property(".sym_size", "_sym_argsize_", SYM_INT),
    Property(".numel", "_numel", INT64),
    Property(".sym_numel", "_sym_numel", SYM_INT),
    Property("to_args_sizes", "_args_sizes", vector_of(vector_of(INT64))),
    Property("to_args_sizes_symint", "_args_sizes_symint", vector_of(vector_of(SYM_INT))),
    Property("to_args_scalartypes", "_args_scalartypes", vector_of(SCALAR_TYPE)),
    Property("TensorGeometry", "_geometry", declared_type("at::TensorGeometry")),
    Property(".scalar_type", "_scalar_type", SCALAR_TYPE),
    Property(".dim", "_dim", INT64),
    Property(".sym_strides", "_sym_strides", SYM_INT_LIST, 'strides_or_error({0}, "{0}")'),
    Property(".layout", "_layout", declared_type("at::Layout")),
    Property(".is_conj", "_conjugate", BOOL),
)
STRIDES = ".sym_strides"
_METHODS = frozenset(item.spelling for item in PROPERTIES if item.is_method)
_FUNCTIONS = tuple(item.spelling for item in PROPERTIES if not item.is_method)


class PropertyUse(Struct, frozen=True):
    """A property expression in a formula, such as ``self.dim()``.

    Attributes:
        spelling: the property's spelling.
        receiver: the word in place of the argument; torchgen matches any word that ends with the argument's name.
        start: the start offset, of the receiver or the function's name.
        end: the end offset.
        index: the text of the index of ``sym_size``.
        is_variable: whether the receiver is a plain variable.
    """

    spelling: str
    receiver_start: int
    receiver_end: int
    start: int
    end: int
    index: str | None
    is_variable: bool


def _index_text(formula: Formula, arguments: Sequence[Node]) -> str | None:
    if len(arguments) != 1:
        return None
    argument = arguments[0]
    text = formula.text[argument.start : argument.end]
    digits = argument
    if isinstance(argument, Unary) and argument.op == "-":
        digits = argument.operand
    plain = isinstance(digits, Number | Name) and text.removeprefix("-").replace("_", "a").isalnum()
    return text if plain else None


def _method_use(formula: Formula, call: Call, callee: Member) -> PropertyUse | None:
    spelling = ("->" if callee.arrow else ".") + callee.name
    if spelling not in _METHODS:
        return None
    receiver = callee.object
    index = None
    if spelling == ".sym_size":
        index = _index_text(formula, call.args)
        if index is None:
            return None
    elif call.args:
        return None
    # torchgen matches text, so a blank anywhere in "self.dim()" hides the property
    if formula.text[receiver.end : call.end] != f"{spelling}({index or ''})":
        return None
    start = receiver.start
    is_variable = isinstance(receiver, Name) and receiver.simple is not None
    if isinstance(receiver, Member):
        start = receiver.name_start
    elif isinstance(receiver, Name):
        start = receiver.parts[-1].start
    else:
        return None
    return PropertyUse(spelling, start, receiver.end, start, call.end, index, is_variable)


def _function_use(formula: Formula, call: Call, callee: Name | Member) -> PropertyUse | None:
    if isinstance(callee, Name):
        last = callee.parts[-1].identifier
        if callee.parts[-1].template_args is not None:
            return None
    else:
        last = callee.name
    if len(call.args) != 1 or not isinstance(call.args[0], Name):
        return None
    argument = call.args[0]
    spelling = max((name for name in _FUNCTIONS if last.endswith(name)), key=len, default=None)
    if spelling is None or argument.simple is None:
        return None
    if formula.text[callee.end : call.end] != f"({argument.simple})":
        return None
    return PropertyUse(
        spelling, argument.start, argument.end, callee.end - len(spelling), call.end, None, isinstance(callee, Name)
    )


def property_uses(formula: Formula) -> list[PropertyUse]:
    """The property expressions of a formula, in source order."""
    uses: list[PropertyUse] = []
    if formula.tree is None:
        return uses
    for node in formula.nodes:
        if isinstance(node, Call):
            callee = node.callee
            use = None
            if isinstance(callee, Member):
                use = _method_use(formula, node, callee)
            if use is None and isinstance(callee, Name | Member):
                use = _function_use(formula, node, callee)
            if use is not None:
                uses.append(use)
    uses.sort(key=lambda use: use.start)
    return uses


class SavedVariables:
    """Computes the values that a backward formula saves, name by name.

    Attributes:
        strides_of: the names whose strides the formula reads, with spans.
    """

    def __init__(self, formula: Formula) -> None:
        self._formula = formula
        self._uses = property_uses(formula)
        self._edits: list[Edit] = []
        # one byte per character, 1 if replaced
        self._taken = bytearray(len(formula.text))
        self._new_words: set[str] = set()
        self.strides_of: list[tuple[str, Word]] = []

    @property
    def text(self) -> str:
        """The formula with saved attributes in place of property expressions."""
        return apply_edits(self._formula.text, self._edits) if self._edits else self._formula.text

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The edits from the written formula to :attr:`text`."""
        return tuple(self._edits)

    @cached_property
    def _words(self) -> dict[str, list[Word]]:
        """The words of the formula by text."""
        words: dict[str, list[Word]] = {}
        for word in self._formula.words:
            words.setdefault(word.text, []).append(word)
        return words

    def _is_free(self, start: int, end: int) -> bool:
        return self._taken.find(1, start, end) < 0

    def mentions(self, name: str) -> bool:
        """Whether torchgen still matches a name in the formula."""
        return bool(self._remaining(name)) or name in self._new_words

    def _remaining(self, name: str) -> list[Word]:
        return [word for word in self._words.get(name, ()) if self._is_free(word.start, word.end)]

    def save(self, names: Sequence[tuple[str, DeclaredType]]) -> tuple[SavedAttribute, ...]:
        """Return the saved attributes for names with C++ types, in torchgen's order."""
        saved: list[SavedAttribute] = []
        # one search in the joined words for a word that ends with the name
        ends = " ".join([*(word.text for word in self._formula.words), ""])
        for name, type in names:
            if f"{name} " in ends:
                self._save_properties(name, saved)
                self._save_whole(name, type, saved)
            elif name in self._new_words:
                saved.append(SavedAttribute(name, type, name))
        return tuple(saved)

    def _save_properties(self, name: str, saved: list[SavedAttribute]) -> None:
        if not self._uses:
            return
        text = self._formula.text
        for item in PROPERTIES:
            for use in self._uses:
                if use.spelling != item.spelling or not self._is_free(use.start, use.end):
                    continue
                receiver = text[use.receiver_start : use.receiver_end]
                exact = receiver == name
                # torchgen's pattern has no left boundary, so "xself.dim()" counts as a use of "self"; inside a function
                # call the parenthesis is the boundary
                if not exact and (not item.is_method or not receiver.endswith(name)):
                    continue
                start = use.receiver_end - len(name) if item.is_method else use.start
                suffix = item.suffix + (use.index or "").replace("-", "minus_")
                written = text[start : use.end]
                expr = item.expr.format(name) if item.expr is not None else written
                word = Word(name, use.receiver_end - len(name), use.receiver_end, "variable")
                saved.append(SavedAttribute(name + suffix, item.type, expr, not (exact and use.is_variable), word))
                replacement = item.result.format(name) if item.result is not None else name + suffix
                self._replace(start, use.end, replacement)
                joined = text[use.receiver_start : start] if item.is_method else ""
                self._new_words.add(joined + name + suffix)
                if item.spelling == STRIDES:
                    self.strides_of.append((name, word))

    def _save_whole(self, name: str, type: DeclaredType, saved: list[SavedAttribute]) -> None:
        words = self._remaining(name)
        if not words and name not in self._new_words:
            return
        if type.canonical is OPTIONAL_STRING_VIEW:
            view = f"{name}.has_value() ? std::optional<std::string_view>({name}.value()) : std::nullopt"
            for word in words:
                self._replace(word.start, word.end, view)
            self._new_words.add(name)
        uses = [word for word in words if word.role not in NOT_A_VARIABLE]
        first = next(iter(uses or words), None)
        saved.append(SavedAttribute(name, type, name, bool(words) and not uses, first))

    def _replace(self, start: int, end: int, text: str) -> None:
        self._edits.append(Edit(start, end, text))
        self._taken[start:end] = b"\1" * (end - start)
