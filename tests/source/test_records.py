"""``dataclass`` of derivlint.source behaves as the standard one, except that nothing is frozen at run time."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import dataclass as standard_dataclass
from dataclasses import field
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derivlint.source.records import dataclass

NAMES = ("alpha", "beta", "gamma", "delta")
#: What is written behind a field's name: how its value is made, and in which methods it takes part.
WRITTEN: tuple[Callable[[], Any], ...] = (
    lambda: 3,
    lambda: None,
    lambda: field(default=0),
    lambda: field(default=1, compare=False),
    lambda: field(default=2, repr=False),
    lambda: field(default=3, hash=False),
    lambda: field(default=4, init=False),
    lambda: field(default_factory=tuple),
    lambda: field(default_factory=lambda: 7, init=False),
)
REQUIRED: tuple[Callable[[], Any] | None, ...] = (None, lambda: field(compare=False), lambda: field(repr=False))

OPTIONS = st.fixed_dictionaries(
    dict.fromkeys(("frozen", "slots", "eq", "order"), st.booleans()),
).filter(lambda options: options["eq"] or not options["order"])


@st.composite
def bodies(draw: st.DrawFn, names: tuple[str, ...], *, required: bool = True) -> dict[str, Callable[[], Any] | None]:
    """Fields of a class: those without a default before those with one."""
    count = draw(st.integers(0, len(names))) if required else 0
    chosen = [draw(st.sampled_from(REQUIRED)) for _ in names[:count]]
    return dict(zip(names, chosen + [draw(st.sampled_from(WRITTEN)) for _ in names[count:]], strict=True))


def made(decorator: Any, body: dict[str, Callable[[], Any] | None], options: dict[str, bool], *bases: type) -> Any:
    """A class with these fields; each has values of its own, so that two decorators can be compared."""
    namespace: dict[str, Any] = {name: value() for name, value in body.items() if value is not None}
    annotations = dict.fromkeys(body, "Any")
    return decorator(**options)(type("Record", bases, {"__annotations__": annotations, **namespace}))


def outcome(ask: Callable[[], Any]) -> Any:
    """What comes of it, or the kind of error."""
    try:
        return ask()
    except TypeError as error:
        return type(error)


def parameters(cls: Any) -> list[tuple[str, Any]]:
    """The parameters of a class, and which of them need no argument."""
    found = inspect.signature(cls).parameters.values()
    return [(item.name, item.kind, item.default is not inspect.Parameter.empty) for item in found]  # type: ignore[misc]  # a default may be anything


def behaviour(cls: Any, first: list[int], second: list[int]) -> list[Any]:
    """All that one can see of two instances of a class."""
    one, other = outcome(lambda: cls(*first)), outcome(lambda: cls(*second))
    seen: list[Any] = [cls.__match_args__, parameters(cls), isinstance(one, type), isinstance(other, type)]
    if isinstance(one, type) or isinstance(other, type):
        return seen
    names = [item.name for item in dataclasses.fields(cls)]
    same = cls(*first)
    seen += [names, [item.init for item in dataclasses.fields(cls)]]
    seen += [repr(one), repr(other), one == other, one == same, one != other, one == 5]
    seen += [outcome(lambda: one < other), outcome(lambda: one >= other), outcome(lambda: one < 5)]
    seen += [outcome(lambda: hash(one) == hash(same)), outcome(lambda: {one: 1}[same] if one == same else 0)]
    seen += [dataclasses.asdict(one), dataclasses.astuple(other), dataclasses.is_dataclass(cls)]
    seen += [repr(copy.copy(one)), hasattr(one, "__dict__"), repr(outcome(lambda: dataclasses.replace(one)))]
    return seen


VALUES = st.lists(st.integers(0, 2), max_size=len(NAMES))


@given(body=bodies(NAMES), options=OPTIONS, first=VALUES, second=VALUES)
def test_a_class_behaves_as_with_the_standard_decorator(
    body: dict[str, Any], options: dict[str, bool], first: list[int], second: list[int]
) -> None:
    expected = behaviour(made(standard_dataclass, body, options), first, second)
    assert behaviour(made(dataclass, body, options), first, second) == expected


@given(
    base=bodies(NAMES[:2]),
    body=bodies(("beta", "gamma", "delta"), required=False),
    options=OPTIONS,
    first=VALUES,
    second=VALUES,
)
def test_a_class_inherits_fields_as_with_the_standard_decorator(
    base: dict[str, Any], body: dict[str, Any], options: dict[str, bool], first: list[int], second: list[int]
) -> None:
    """Also where the base is of the standard decorator, whose own frozen classes cannot be mixed with others."""
    expected = behaviour(
        made(standard_dataclass, body, options, made(standard_dataclass, base, options)), first, second
    )
    assert behaviour(made(dataclass, body, options, made(dataclass, base, options)), first, second) == expected
    if not options["frozen"]:
        mixed = made(dataclass, body, options, made(standard_dataclass, base, options))
        assert behaviour(mixed, first, second) == expected


@dataclass(frozen=True, slots=True)
class Place:
    name: str
    line: int = 1
    kinds: ClassVar[int] = 2

    def __repr__(self) -> str:
        return f"<{self.name}>"


@dataclass(slots=True)
class Tree:
    children: list[Tree] = field(default_factory=list)
    total: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.total = sum(child.total for child in self.children) + 1


class Named(Place):
    """A plain class over a record."""

    __slots__ = ()

    def __init__(self, name: str) -> None:
        super().__init__(name, 7)


def test_methods_of_the_class_itself_stay() -> None:
    assert repr(Place("a")) == "<a>"
    assert Place("a") == Place("a", 1) != Place("a", 2)


def test_a_variable_of_the_class_is_no_field() -> None:
    assert [item.name for item in dataclasses.fields(Place)] == ["name", "line"]
    assert Place.kinds == 2


def test_a_method_is_written_once_for_a_class_and_its_subclasses() -> None:
    assert (Named("a").name, Named("a").line) == ("a", 7)
    assert Named("a") == Named("a")
    assert Named("a") != Place("a", 7)
    assert Place.__init__ is Place.__init__
    assert Place.__init__.__qualname__ == "Place.__init__"


def test_what_is_to_be_done_after_init_is_done() -> None:
    assert Tree([Tree(), Tree([Tree()])]).total == 4


def test_a_record_that_holds_itself_can_be_shown() -> None:
    tree = Tree()
    tree.children.append(tree)
    assert repr(tree) == "Tree(children=[...], total=1)"


def test_values_survive_pickling_and_copying() -> None:
    assert pickle.loads(pickle.dumps(Place("a", 3))) == Place("a", 3)
    assert copy.deepcopy(Tree([Tree()])) == Tree([Tree()])


def test_a_wrong_call_is_told_with_the_names_of_the_class() -> None:
    with pytest.raises(TypeError, match=r"^Place\.__init__\(\) missing 1 required positional argument: 'name'$"):
        Place()  # type: ignore[call-arg]  # it is to fail


def test_a_mutable_default_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^items has a mutable default, which all instances would share"):

        @dataclass(slots=True)
        class Wrong:
            items: list[int] = []  # noqa: RUF012 -- what is tested


def test_a_slotted_class_has_no_other_attributes() -> None:
    with pytest.raises(AttributeError):
        Place("a").column = 1  # type: ignore[attr-defined]  # it is to fail
