"""Which helpers formulas call, and which of them a PyTorch library can offer."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from derivlint.cpp.declarations.declaration import declarations_from_json
from derivlint.emit.helpers.elf import ElfError, ElfFile
from derivlint.formula import parse_formula
from derivlint.model import Model
from derivlint.model.entry import Entry
from derivlint.operators.special import WRAP_OPT_IF

#: The namespace of the functions in FunctionsManual.h.
NAMESPACE = "torch::autograd::generated::details"
#: What the mangled names of its functions begin with; the length and the name of the function follow.
MANGLED = "_ZN5torch8autograd9generated7details"
#: The helpers whose definition is in the header itself: every object has its own.
IN_HEADER = frozenset({WRAP_OPT_IF})


def helpers_of(model: Model, entries: Iterable[Entry]) -> dict[str, frozenset[str]]:
    """The helpers that the formulas of entries call, by the operator of the entry."""
    declared = declared_helpers(model)
    helpers: dict[str, frozenset[str]] = {}
    for entry in entries:
        if entry.operator is not None:
            texts = {item.text for item in model.evaluations(entry)}
            words = {word.text for text in texts for word in parse_formula(text).words if word.role == "callee"}
            helpers[entry.operator] = frozenset(words & declared)
    return helpers


def declared_helpers(model: Model) -> frozenset[str]:
    """The names of the helpers that the operators' PyTorch declares; none where its header is not known."""
    written = model.natives.declarations
    if written is None:
        return frozenset()
    return frozenset(declarations_from_json(written).functions.get(NAMESPACE, {}))


def hidden_helpers(names: Collection[str], library: Path | None) -> frozenset[str]:
    """Those of the helpers that a library neither exports nor names in its table of symbols.

    Args:
        names: the helpers.
        library: the library; None where there is none that can be read.
    """
    searched = frozenset(names) - IN_HEADER
    if library is None:
        return searched
    try:
        with ElfFile(library) as file:
            offered = file.names_with(MANGLED) if file.has_symbol_table else file.exported()
    except ElfError:
        return searched
    available = {name for mangled in offered if (name := base_name(mangled)) is not None}
    return searched - available


def base_name(mangled: str) -> str | None:
    """The name of a function of the helpers' namespace, None for another symbol.

    ``_ZN5torch8autograd9generated7details9mm_helperE...`` has the length of the name in front of it.
    """
    if not mangled.startswith(MANGLED):
        return None
    rest = mangled[len(MANGLED) :]
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    if not digits or len(digits) > 3:
        return None
    name = rest[len(digits) : len(digits) + int(digits)]
    # after it the end of the qualified name, or the arguments of a template
    return name if rest[len(digits) + int(digits) :].startswith(("E", "I")) else None
