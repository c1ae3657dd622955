"""Evaluate collections in the source of Python modules, without importing or running them.

PyTorch's generators have operator lists in module-level sets, lists and dictionaries, built with displays, unions and a
few forms of loops. Other syntax makes the names that it may define or change unknown, since a partially evaluated list
would be wrong.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

#: The maximum number of characters of a module; gen_variable_type.py has 90,000.
LONGEST = 4_000_000
#: The maximum number of elements of a collection; the longest list of PyTorch's generators has 260.
MOST_ELEMENTS = 20_000
#: The maximum number of elements copied between collections in all modules together.
MOST_COPIES = 500_000
#: The maximum nesting of expressions, and of names that refer to names.
DEEPEST = 50

#: A value: a string or a collection; of a dictionary, only the keys.
Literal = str | tuple["Literal", ...]

_COPYING = frozenset({"set", "frozenset", "list", "tuple", "sorted", "dict", "OrderedSet"})
_ADDING = frozenset({"update", "extend", "union"})
_ADDING_ONE = frozenset({"add", "append"})


class UnknownShapeError(Exception):
    """A collection is defined with unsupported syntax."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


class _Step(NamedTuple):
    """A statement that assigns or extends a name: the new elements, and whether earlier ones remain."""

    value: ast.expr
    adds: bool
    element: bool
    line: int


class Module:
    """The collections of one module.

    Attributes:
        name: the unqualified name, such as ``gen_variable_type``.
        imported: the unqualified module and original name of each imported name.
        tree: the syntax tree.
    """

    def __init__(self, name: str, text: str) -> None:
        """Parse a module.

        Args:
            name: its unqualified name.
            text: its source, possibly invalid.

        Raises:
            UnknownShapeError: the text is not Python or too long.
        """
        self.name = name
        self.imported: dict[str, tuple[str, str]] = {}
        self.tree = _parsed(text)
        self._steps: dict[str, list[_Step]] = {}
        self._broken: dict[str, UnknownShapeError] = {}
        for statement in self.tree.body:
            self._read(statement)

    def _read(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.ImportFrom) and statement.module is not None:
            module = statement.module.rpartition(".")[2]
            for alias in statement.names:
                self.imported[alias.asname or alias.name] = (module, alias.name)
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                self._assign(target, statement.value, statement.lineno)
        elif isinstance(statement, ast.AnnAssign):
            if statement.value is not None:
                self._assign(statement.target, statement.value, statement.lineno)
        elif isinstance(statement, ast.AugAssign) and isinstance(statement.op, (ast.BitOr, ast.Add)):
            self._add(statement.target, statement.value, statement.lineno)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            self._call(statement.value)
        elif isinstance(statement, ast.For):
            self._loop(statement)
        elif not isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.Import, ast.Expr)):
            self._spoil(statement)

    def _assign(self, target: ast.expr, value: ast.expr, line: int) -> None:
        if isinstance(target, ast.Name):
            self._broken.pop(target.id, None)
            self._steps[target.id] = [_Step(value, adds=False, element=False, line=line)]
        elif isinstance(target, ast.Subscript):
            self._add(target.value, target.slice, line, element=True)
        else:
            self._spoil(target)

    def _add(self, target: ast.expr, value: ast.expr, line: int, *, element: bool = False) -> None:
        if isinstance(target, ast.Name):
            self._steps.setdefault(target.id, []).append(_Step(value, adds=True, element=element, line=line))
        else:
            self._spoil(target)

    def _call(self, call: ast.Call) -> None:
        function = call.func
        if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
            # calls do not rebind names, and no call in the generators modifies a list
            return
        if function.attr in _ADDING | _ADDING_ONE and not call.keywords:
            for argument in call.args:
                self._add(function.value, argument, call.lineno, element=function.attr in _ADDING_ONE)
        elif function.value.id in self._steps:
            self._spoil(call)

    def _loop(self, loop: ast.For) -> None:
        """Evaluate ``for key in NAMES: TABLE[key] = ...``, which adds the names to the table."""
        (first, *more) = loop.body
        target = first.targets[0] if isinstance(first, ast.Assign) and len(first.targets) == 1 else None
        is_plain = (
            not more
            and not loop.orelse
            and isinstance(loop.target, ast.Name)
            and isinstance(target, ast.Subscript)
            and isinstance(target.slice, ast.Name)
            and target.slice.id == loop.target.id
        )
        if is_plain and isinstance(target, ast.Subscript):
            self._add(target.value, loop.iter, loop.lineno)
        else:
            self._spoil(loop)

    def _spoil(self, node: ast.stmt | ast.expr) -> None:
        """Make all names in a statement unknown, since it may change them."""
        for name in ast.walk(node):
            if isinstance(name, ast.Name):
                self._broken[name.id] = UnknownShapeError(_described(node), node.lineno)

    def steps(self, name: str) -> list[_Step]:
        """The statements that define a name.

        Raises:
            UnknownShapeError: there are none, or some are unsupported.
        """
        if name in self._broken:
            raise self._broken[name]
        steps = self._steps.get(name)
        if not steps or steps[0].adds:
            raise UnknownShapeError(f'"{name}" is not defined', steps[0].line if steps else 1)
        return steps


def _parsed(text: str) -> ast.Module:
    if len(text) > LONGEST:
        raise UnknownShapeError(f"{len(text)} characters, the most that is read is {LONGEST}", 1)
    try:
        with warnings.catch_warnings():
            # invalid escapes in strings, which PyTorch may contain
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        raise UnknownShapeError(f"not Python: {error.msg}", error.lineno or 1) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise UnknownShapeError("not Python that can be read", 1) from error


class Modules:
    """Modules that may import from each other."""

    def __init__(self, modules: Collection[Module]) -> None:
        self._modules = {module.name: module for module in modules}
        self._known: dict[tuple[str, str], tuple[Literal, ...]] = {}
        self._copies = 0

    def collection(self, module: str, name: str) -> tuple[Literal, ...]:
        """The distinct elements of a collection, in source order.

        Args:
            module: the unqualified name of the module.
            name: the name of the collection there.

        Raises:
            UnknownShapeError: it is undefined, or defined with unsupported syntax.
        """
        return self._named(module, name, 0)

    def _named(self, module: str, name: str, depth: int) -> tuple[Literal, ...]:
        cached = self._known.get((module, name))
        if cached is not None:
            return cached
        source_module = self._modules.get(module)
        if source_module is None:
            raise UnknownShapeError(f'there is not a module "{module}"', 1)
        if depth > DEEPEST:
            raise UnknownShapeError(f'"{name}" is defined by itself, or nested too deeply', 1)
        if name in source_module.imported:
            return self._named(*source_module.imported[name], depth + 1)
        elements: dict[Literal, None] = {}
        for step in source_module.steps(name):
            value = self._value(source_module, step.value, depth + 1)
            if not step.element and not isinstance(value, tuple):
                raise UnknownShapeError(f'"{name}" is not a collection', step.line)
            elements |= dict.fromkeys([value] if step.element else value)
            if len(elements) > MOST_ELEMENTS:
                raise UnknownShapeError(f'"{name}" has more than {MOST_ELEMENTS} elements', step.line)
        self._known[module, name] = tuple(elements)
        return self._known[module, name]

    def _value(self, module: Module, node: ast.expr, depth: int) -> Literal:
        if depth > DEEPEST:
            raise UnknownShapeError("nested too deeply", node.lineno)
        evaluate = _EVALUATE.get(type(node))
        if evaluate is None:
            raise UnknownShapeError(_described(node), node.lineno)
        return evaluate(self, module, node, depth)

    def _elements(self, module: Module, node: ast.expr, depth: int) -> tuple[Literal, ...]:
        value = self._value(module, node, depth + 1)
        if not isinstance(value, tuple):
            raise UnknownShapeError(_described(node), node.lineno)
        self._copies += len(value)
        if self._copies > MOST_COPIES:
            raise UnknownShapeError(f"more than {MOST_COPIES} elements are copied", node.lineno)
        return value

    def _display(self, module: Module, node: ast.Set | ast.List | ast.Tuple, depth: int) -> Literal:
        return tuple(self._items(module, node.elts, depth))

    def _items(self, module: Module, nodes: Collection[ast.expr], depth: int) -> Iterator[Literal]:
        for node in nodes:
            if isinstance(node, ast.Starred):
                yield from self._elements(module, node.value, depth)
            else:
                yield self._value(module, node, depth + 1)

    def _dict(self, module: Module, node: ast.Dict, depth: int) -> Literal:
        items: list[Literal] = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                items += self._elements(module, value, depth)
            else:
                items.append(self._value(module, key, depth + 1))
        return tuple(items)

    def _constant(self, module: Module, node: ast.Constant, depth: int) -> Literal:
        if not isinstance(node.value, str):
            raise UnknownShapeError(_described(node), node.lineno)
        return node.value

    def _name(self, module: Module, node: ast.Name, depth: int) -> Literal:
        return self._named(module.name, node.id, depth + 1)

    def _operation(self, module: Module, node: ast.BinOp, depth: int) -> Literal:
        left, right = (self._elements(module, side, depth) for side in (node.left, node.right))
        if isinstance(node.op, (ast.BitOr, ast.Add)):
            return (*left, *right)
        if isinstance(node.op, ast.Sub):
            return tuple(item for item in left if item not in frozenset(right))
        if isinstance(node.op, ast.BitAnd):
            return tuple(item for item in left if item in frozenset(right))
        raise UnknownShapeError(_described(node), node.lineno)

    def _call(self, module: Module, node: ast.Call, depth: int) -> Literal:
        function = node.func
        if isinstance(function, ast.Name) and function.id in _COPYING and len(node.args) <= 1 and not node.keywords:
            return self._elements(module, node.args[0], depth) if node.args else ()
        if isinstance(function, ast.Attribute) and not node.keywords:
            if function.attr in ("keys", "copy") and not node.args:
                return self._elements(module, function.value, depth)
            if function.attr == "union":
                parts = (function.value, *node.args)
                return tuple(item for part in parts for item in self._elements(module, part, depth))
        raise UnknownShapeError(_described(node), node.lineno)


_EVALUATE: Mapping[type[ast.expr], Callable[..., Literal]] = {
    ast.Set: Modules._display,
    ast.List: Modules._display,
    ast.Tuple: Modules._display,
    ast.Dict: Modules._dict,
    ast.Constant: Modules._constant,
    ast.Name: Modules._name,
    ast.BinOp: Modules._operation,
    ast.Call: Modules._call,
}


def _described(node: ast.AST) -> str:
    """The Python name of unsupported syntax."""
    return f'"{type(node).__name__}" is not understood here'
