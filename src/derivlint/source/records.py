"""``dataclass``, as in the standard library, for a program that starts often and makes many small values.

The standard decorator writes and compiles four to seven methods of every class when its module is imported, most of
which are never called: with 200 classes that is a third of the time in which ``derivlint`` starts. Here a method is
written when it is first looked up.

And values are frozen for the type checker only, which sees the standard decorator: ``__init__`` of a frozen class of
the standard library sets every field with ``object.__setattr__``, at ten times the cost of an assignment, and a check
makes more than a hundred thousand values.

All else is as in the standard library, whose ``field`` is used, and whose functions (``replace``, ``fields``,
``asdict``) work with these classes. ``InitVar`` and ``KW_ONLY`` are not supported.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, Field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from dataclasses import dataclass

    _Fields = dict[str, Field[Any]]
    # writes a method, given its name, its class and the fields
    _Writer = Callable[[str, type, _Fields], Any]
else:

    def dataclass(*, frozen=False, slots=False, eq=True, order=False):
        """A decorator that adds the methods of a record to a class with annotated fields.

        Args:
            frozen: fields are not assigned to, which the type checker sees to; equal values have equal hashes.
            slots: instances have no ``__dict__``.
            eq: instances with equal fields are equal; else only an instance and itself are.
            order: instances are ordered like the tuples of their fields.

        Raises:
            ValueError: a field has a mutable default.
        """
        return lambda cls: _record(cls, slots=slots, eq=eq, order=order, hashed=eq and frozen)


__all__ = ["dataclass"]


def _record(cls: type, *, slots: bool, eq: bool, order: bool, hashed: bool) -> type:
    """The class with its methods; with ``slots``, another class of the same name."""
    own = _own_fields(cls)
    fields: _Fields = {}
    for base in reversed(cls.__mro__[1:]):
        inherited = base.__dict__.get("__dataclass_fields__")
        if inherited is not None:
            fields.update(inherited.fields if isinstance(inherited, _StandardFields) else inherited)
    fields.update(own)

    added: dict[str, object] = {
        "__dataclass_fields__": _StandardFields(fields),
        "__match_args__": tuple(name for name, item in fields.items() if item.init),
    }
    writers: dict[str, _Writer] = {"__init__": _init, "__repr__": _repr}
    if eq:
        writers["__eq__"] = _eq
        added["__hash__"] = None
    if hashed:
        writers["__hash__"] = _hash
    if order:
        writers.update(dict.fromkeys(_COMPARISONS, _comparison))
    for name, write in writers.items():
        added[name] = _Method(fields, write)
    # what the class itself defines stays; that it has a __hash__ = None of an __eq__ of its own means nothing
    for name in added.keys() & cls.__dict__.keys():
        if cls.__dict__[name] is not None:
            del added[name]

    if slots:
        return _with_slots(cls, own, added)
    for name, item in own.items():
        if item.default is not MISSING:
            added[name] = item.default
        elif name in cls.__dict__:
            delattr(cls, name)
    for name, value in added.items():
        setattr(cls, name, value)
        if isinstance(value, (_Method, _StandardFields)):
            value.__set_name__(cls, name)
    return cls


def _own_fields(cls: type) -> _Fields:
    """The fields that a class adds to those of its bases."""
    fields: _Fields = {}
    for name, annotation in cls.__annotations__.items():
        if isinstance(annotation, str) and annotation.startswith(("ClassVar", "typing.ClassVar")):
            continue
        value = cls.__dict__.get(name, MISSING)
        item: Field[Any] = value if isinstance(value, Field) else dataclasses.field(default=value)
        item.name = name
        item.type = annotation
        if item.default is not MISSING and type(item.default).__hash__ is None:
            raise ValueError(f"{name} has a mutable default, which all instances would share: use default_factory")
        fields[name] = item
    return fields


def _with_slots(cls: type, own: _Fields, added: dict[str, object]) -> type:
    """A class like ``cls`` with slots for its own fields, which a class can be given only when it is made."""
    namespace = {name: value for name, value in cls.__dict__.items() if name not in own}
    for name in ("__dict__", "__weakref__"):
        namespace.pop(name, None)
    namespace.update(added)
    inherited = {slot for base in cls.__mro__[1:] for slot in base.__dict__.get("__slots__", ())}
    namespace["__slots__"] = tuple(name for name in own if name not in inherited)
    made = type(cls)(cls.__name__, cls.__bases__, namespace)
    made.__qualname__ = cls.__qualname__
    return made


class _Method:
    """A method that is written when it is first looked up, and then takes its own place in the class."""

    __slots__ = ("_fields", "_name", "_owner", "_write")

    def __init__(self, fields: _Fields, write: _Writer) -> None:
        self._fields = fields
        self._write = write

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner = owner
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        method = self._write(self._name, self._owner, self._fields)
        method.__name__ = self._name
        method.__qualname__ = f"{self._owner.__qualname__}.{self._name}"
        setattr(self._owner, self._name, method)
        return method.__get__(instance, owner)


class _StandardFields:
    """What the standard library's functions find fields by; made when one of them looks it up."""

    __slots__ = ("_name", "_owner", "fields")

    def __init__(self, fields: _Fields) -> None:
        self.fields = fields

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner = owner
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        # a class with the same fields, of which the standard library notes what it wants to know
        annotations = {name: item.type for name, item in self.fields.items()}
        twin = type(self._owner.__name__, (), {**self.fields, "__annotations__": annotations, "__doc__": "Fields."})
        made = getattr(dataclasses.dataclass(init=False, repr=False, eq=False)(twin), self._name)
        setattr(self._owner, self._name, made)
        return made


def _written(text: str, name: str, owner: type, known: dict[str, object]) -> Any:
    """The function that the text of its definition defines."""
    exec(compile(text, f"<{owner.__qualname__}.{name}>", "exec"), known)
    return known[name]


def _init(name: str, owner: type, fields: _Fields) -> Any:
    known: dict[str, object] = {"MISSING": MISSING, "__name__": owner.__module__}
    parameters = ["self"]
    body = []
    for item in fields.values():
        value = item.name
        if item.default_factory is not MISSING:
            known[f"_make_{item.name}"] = item.default_factory
            value = f"_make_{item.name}()"
            if item.init:
                parameters.append(f"{item.name}=MISSING")
                value = f"{value} if {item.name} is MISSING else {item.name}"
        elif item.default is not MISSING:
            known[f"_default_{item.name}"] = item.default
            value = f"_default_{item.name}"
            if item.init:
                parameters.append(f"{item.name}=_default_{item.name}")
                value = item.name
        elif item.init:
            parameters.append(item.name)
        else:
            continue
        body.append(f" self.{item.name} = {value}")
    if hasattr(owner, "__post_init__"):
        body.append(" self.__post_init__()")
    return _written(f"def {name}({', '.join(parameters)}):\n" + "\n".join(body or [" pass"]), name, owner, known)


def _repr(name: str, owner: type, fields: _Fields) -> Any:
    from reprlib import recursive_repr

    shown = [item.name for item in fields.values() if item.repr]

    @recursive_repr()
    def __repr__(self: object) -> str:  # noqa: N807 -- it becomes that method
        parts = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{type(self).__qualname__}({parts})"

    return __repr__


def _eq(name: str, owner: type, fields: _Fields) -> Any:
    compared = [item.name for item in fields.values() if item.compare]
    text = (
        f"def {name}(self, other):\n"
        " if self is other: return True\n"
        " if other.__class__ is not self.__class__: return NotImplemented\n"
        f" return {_tuple('self', compared)} == {_tuple('other', compared)}"
    )
    return _written(text, name, owner, {})


def _hash(name: str, owner: type, fields: _Fields) -> Any:
    hashed = [item.name for item in fields.values() if (item.compare if item.hash is None else item.hash)]
    return _written(f"def {name}(self): return hash({_tuple('self', hashed)})", name, owner, {})


#: Methods of ordering, and the operator of each.
_COMPARISONS = {"__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}


def _comparison(name: str, owner: type, fields: _Fields) -> Any:
    compared = [item.name for item in fields.values() if item.compare]
    text = (
        f"def {name}(self, other):\n"
        " if other.__class__ is not self.__class__: return NotImplemented\n"
        f" return {_tuple('self', compared)} {_COMPARISONS[name]} {_tuple('other', compared)}"
    )
    return _written(text, name, owner, {})


def _tuple(variable: str, names: Iterable[str]) -> str:
    """The text of a tuple of attributes."""
    return "(" + "".join(f"{variable}.{name}, " for name in names) + ")"
