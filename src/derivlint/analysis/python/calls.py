"""Keyword arguments, reordered by the positions of their parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from derivlint.cpp.declarations.declaration import Function
from derivlint.schema import NativeFunctions

#: The C++ parameter that replaces several Python parameters.
OPTIONS = "options"
_OPTION_NAMES = ("dtype", "layout", "device", "pin_memory")
#: Synonyms of parameter names.
_SYNONYMS = {"axis": "dim", "input": "self", "keepdims": "keepdim", "x": "self", "y": "other"}


def positional(
    natives: NativeFunctions, functions: Sequence[Function], plain: Sequence[str], keywords: Mapping[str, str]
) -> Iterator[tuple[list[str], bool]]:
    """The positional arguments for each overload with parameters of these names, and whether some are defaults.

    Args:
        natives: the operators, for defaults of parameters.
        functions: the overloads.
        plain: the positional arguments.
        keywords: the keyword arguments.
    """
    seen: set[tuple[str, ...]] = set()
    for function in functions:
        names = [parameter.name for parameter in function.parameters]
        by_position = {_position(name, names): value for name, value in _grouped(keywords, names).items()}
        if None in by_position or any(place is not None and place < len(plain) for place in by_position):
            continue
        last = max(place for place in by_position if place is not None)
        made = list(plain)
        filled = False
        for place in range(len(plain), last + 1):
            value = by_position.get(place)
            if value is None:
                value = _default(natives, function, names[place])
                filled = True
            if value is None:
                break
            made.append(value)
        else:
            if tuple(made) not in seen:
                seen.add(tuple(made))
                yield made, filled


def _position(name: str, names: Sequence[str]) -> int | None:
    for candidate in (name, _SYNONYMS.get(name, name), f"{name}s", f"{name}_"):
        if candidate in names:
            return names.index(candidate)
    return None


def _grouped(keywords: Mapping[str, str], names: Sequence[str]) -> Mapping[str, str]:
    """Group the keywords of tensor options to one."""
    options = {name: value for name, value in keywords.items() if name in _OPTION_NAMES and name not in names}
    if not options or OPTIONS not in names:
        return keywords
    made = "".join(f".{name}({value})" for name, value in options.items())
    value = next(iter(options.values())) if len(options) == 1 else f"at::TensorOptions(){made}"
    return {**{name: text for name, text in keywords.items() if name not in options}, OPTIONS: value}


_DEFAULTS = {"None": "std::nullopt", "True": "true", "False": "false", "Mean": "at::Reduction::Mean"}


def _default(natives: NativeFunctions, function: Function, parameter: str) -> str | None:
    """The default value of a parameter in C++."""
    base = function.name.removesuffix("_symint")
    for native in natives.with_base(base):
        for argument in native.schema.arguments.flat_all:
            if argument.name == parameter and argument.default is not None:
                text = argument.default
                if text.startswith("["):
                    return "{" + text[1:-1] + "}"
                return _DEFAULTS.get(text, text)
    return "{}" if parameter == OPTIONS else None
