"""Slips that people make in entries, as functions from an entry to a mutated entry.

An entry is a Python object as YAML loads it; a mutator returns a changed copy, or None where it does not apply. Each is
a kind of slip; which of them torchgen refuses is accessed on torchgen, not written down here.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable
from functools import partial
from typing import Any

Entry = dict[str, Any]
Mutator = Callable[[Entry, random.Random], "Entry | None"]
#: What a mutator makes of an entry and the key of a formula: another entry, or another text of the formula.
Change = Callable[[Entry, str, random.Random], "Entry | str"]

SPECIAL = ("name", "dispatch", "output_differentiability")
MUTATORS: dict[str, Mutator] = {}


def mutator(function: Mutator) -> Mutator:
    """Register a mutator under its name."""
    MUTATORS[function.__name__] = function
    return function


def to_yaml(entry: Entry) -> str:
    """One list item; every string is double-quoted, so that nothing in it means anything to YAML."""

    def value(item: Any) -> str:
        if isinstance(item, dict):
            return "{" + ", ".join(f"{json.dumps(key)}: {value(each)}" for key, each in item.items()) + "}"
        return json.dumps(item, ensure_ascii=False)

    lines = [f"{json.dumps(key) if key not in SPECIAL else key}: {value(item)}" for key, item in entry.items()]
    return "- " + "\n  ".join(lines) + "\n"


def body(entry: Entry) -> dict[str, Any]:
    """The formulas of the entry's first dispatch key."""
    if "dispatch" in entry:
        formulas: dict[str, Any] = next(iter(entry["dispatch"].values()))
        return formulas
    return entry


def argument_names(entry: Entry) -> list[str]:
    arguments = entry["name"].partition("(")[2].rpartition(") -> ")[0]
    return [piece.split("=")[0].split(" ")[-1] for piece in arguments.split(", ") if " " in piece]


def keys(entry: Entry, *, backward: bool | None = None) -> list[str]:
    """The keys with C++ formulas; only backward or only forward ones if asked for."""
    names = argument_names(entry)
    found = []
    for key, text in body(entry).items():
        if key in SPECIAL or not isinstance(text, str) or text in ("auto_linear", "auto_element_wise"):
            continue
        is_backward = key.split(",")[0].strip() in names
        if text != "non_differentiable" and backward in (None, is_backward):
            found.append(key)
    return found


def misspelt(word: str, rng: random.Random) -> str:
    """The word with two letters swapped, one dropped or one doubled."""
    if len(word) < 3:
        return word + word[-1]
    at = rng.randrange(1, len(word) - 1)
    kind = rng.randrange(3)
    if kind == 0 and word[at] != word[at + 1]:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word[:at] + word[at + 1 :] if kind == 1 else word[:at] + word[at] + word[at:]


def rename_key(entry: Entry, old: str, new: str) -> Entry:
    """The entry with one key renamed, in its place."""
    result = copy.deepcopy(entry)
    formulas = body(result)
    items = [(new if key == old else key, text) for key, text in formulas.items()]
    formulas.clear()
    formulas.update(items)
    return result


def with_formula(entry: Entry, key: str, text: Any) -> Entry:
    result = copy.deepcopy(entry)
    body(result)[key] = text
    return result


def register(name: str, change: Change, *, backward: bool | None, where: str = "") -> None:
    """Register a mutator of a random formula.

    Args:
        name: its name.
        change: gives another entry, or another text for the formula.
        backward: only backward or only forward formulas.
        where: a pattern that the key and the formula, with a colon between them, have.
    """

    def mutate(entry: Entry, rng: random.Random) -> Entry | None:
        texts = {key: f"{key}: {body(entry)[key]}" for key in keys(entry, backward=backward)}
        candidates = [key for key, text in texts.items() if re.search(where, text, re.DOTALL)]
        if not candidates:
            return None
        key = rng.choice(candidates)
        made = change(entry, key, rng)
        return made if isinstance(made, dict) else with_formula(entry, key, made)

    MUTATORS[name] = mutate


def of_formula(*, backward: bool | None, where: str = "") -> Callable[[Change], Change]:
    """Register a mutator of a random formula under its name."""

    def registered(change: Change) -> Change:
        register(change.__name__, change, backward=backward, where=where)
        return change

    return registered


def _rewritten(pattern: str, new: str, count: int, entry: Entry, key: str, rng: random.Random) -> str:
    return re.sub(pattern, new, body(entry)[key], count=count)


for _name, _pattern, _new, _backward, _count in (
    ("one_grad_becomes_grads", r"\bgrad\b", "grads[0]", True, 1),
    ("grads_index_too_large", r"\bgrad\b", "grads[7]", True, 1),
    ("grads_becomes_grad", r"\bgrads\[\d\]", "grad", True, 1),
    ("named_gradient_becomes_indexed", r"\bgrad_(?=[A-Z])\w+", "grads[1]", True, 1),
    ("sizes_instead_of_sym_sizes", r"sym_sizes\(\)", "sizes()", True, 1),
    ("size_instead_of_sym_size", r"sym_size\(", "size(", True, 1),
    ("tangent_suffix_lost", r"(\w+)_t\b", r"\1", False, 1),
    ("primal_suffix_lost", r"(\w+)_p\b", r"\1", False, 1),
    ("no_tangent_left", r"_t\b", "_p", False, 0),
    ("original_self_in_forward", r"\bself_t\b", "original_self_t", False, 0),
):
    register(_name, partial(_rewritten, _pattern, _new, _count), backward=_backward, where=f": .*?{_pattern}")


def _replaced(text: object, entry: Entry, key: str, rng: random.Random) -> Entry:
    return with_formula(entry, key, text)


for _name, _text, _of in (
    ("formula_left_empty", None, None),
    ("formula_is_a_number", 0, None),
    ("replaced_by_non_differentiable", "non_differentiable", True),
    ("non_differentiable_output", "non_differentiable", False),
    ("element_wise_everywhere", "auto_element_wise", False),
    ("linear_everywhere", "auto_linear", False),
):
    register(_name, partial(_replaced, _text), backward=_of)


@mutator
def grad_becomes_first_of_grads(entry: Entry, rng: random.Random) -> Entry | None:
    result = copy.deepcopy(entry)
    for key in keys(entry, backward=True):
        body(result)[key] = re.sub(r"\bgrad\b", "grads[0]", body(entry)[key])
    return result


@of_formula(backward=None)
def key_misspelt(entry: Entry, key: str, rng: random.Random) -> Entry:
    first, *rest = key.split(", ")
    return rename_key(entry, key, ", ".join([misspelt(first, rng), *rest]))


@of_formula(backward=True, where="^[^:]*,")
def second_name_misspelt(entry: Entry, key: str, rng: random.Random) -> Entry:
    first, second, *rest = [name.strip() for name in key.split(",")]
    return rename_key(entry, key, ", ".join([first, misspelt(second, rng), *rest]))


@of_formula(backward=True)
def trailing_comma_in_key(entry: Entry, key: str, rng: random.Random) -> Entry:
    return rename_key(entry, key, f"{key},")


@of_formula(backward=True)
def strides_of_another(entry: Entry, key: str, rng: random.Random) -> str:
    return f"as_strided_like({body(entry)[key]}, {rng.choice(argument_names(entry))}.sym_strides())"


@of_formula(backward=True)
def geometry_of_an_argument(entry: Entry, key: str, rng: random.Random) -> str:
    return f"with_geometry({body(entry)[key]}, TensorGeometry({rng.choice(argument_names(entry))}))"


@of_formula(backward=True)
def result_properties_saved(entry: Entry, key: str, rng: random.Random) -> str:
    return f"expand_to({body(entry)[key]}, result.sym_sizes())"


@of_formula(backward=False)
def value_of_self_in_forward(entry: Entry, key: str, rng: random.Random) -> Entry | str:
    return f"({body(entry)[key]}) * self_p" if "self" in argument_names(entry) else entry


@of_formula(backward=True, where="^[^,]*:")
def overlapping_non_differentiable(entry: Entry, key: str, rng: random.Random) -> Entry:
    return with_formula(entry, f"{key}, {key}", "non_differentiable")


@of_formula(backward=True)
def backward_key_dropped(entry: Entry, key: str, rng: random.Random) -> Entry:
    result = copy.deepcopy(entry)
    del body(result)[key]
    return result


@mutator
def formula_for_non_tensor(entry: Entry, rng: random.Random) -> Entry | None:
    pieces = entry["name"].partition("(")[2].rpartition(") -> ")[0].split(", ")
    plain = [
        piece.split("=")[0].split(" ")[-1] for piece in pieces if re.match(r"(int|float|bool|Scalar|SymInt)\b", piece)
    ]
    plain = [name for name in plain if name not in body(entry)]
    return with_formula(entry, rng.choice(plain), "grad") if plain else None


@mutator
def automatic_formula_misspelt(entry: Entry, rng: random.Random) -> Entry | None:
    for key, text in body(entry).items():
        if text in ("auto_linear", "auto_element_wise"):
            return with_formula(entry, key, misspelt(text, rng))
    return None


@mutator
def forward_key_out_of_range(entry: Entry, rng: random.Random) -> Entry | None:
    return rename_key(entry, "result", "result9") if "result" in body(entry) else None


@mutator
def forward_key_with_index(entry: Entry, rng: random.Random) -> Entry | None:
    return rename_key(entry, "result", "result0") if "result" in body(entry) else None


@mutator
def differentiability_too_long(entry: Entry, rng: random.Random) -> Entry | None:
    return {**entry, "output_differentiability": [*entry.get("output_differentiability", [True] * 4), True]}


@mutator
def differentiability_flipped(entry: Entry, rng: random.Random) -> Entry | None:
    values = entry.get("output_differentiability")
    if not values or not all(isinstance(value, bool) for value in values):
        return None
    at = rng.randrange(len(values))
    return {**entry, "output_differentiability": [*values[:at], not values[at], *values[at + 1 :]]}


@mutator
def differentiability_switched_off(entry: Entry, rng: random.Random) -> Entry | None:
    return {**entry, "output_differentiability": [False]}


@mutator
def differentiability_is_a_word(entry: Entry, rng: random.Random) -> Entry | None:
    return {**entry, "output_differentiability": "True"}


@mutator
def unknown_dispatch_key(entry: Entry, rng: random.Random) -> Entry | None:
    if "dispatch" in entry:
        return None
    formulas = {key: text for key, text in entry.items() if key not in SPECIAL}
    result = {key: value for key, value in entry.items() if key in SPECIAL}
    result["dispatch"] = {rng.choice(["AutogradGPU", "CUDA", "default", "Autograd"]): formulas}
    return result


@mutator
def only_a_backend_key(entry: Entry, rng: random.Random) -> Entry | None:
    result = unknown_dispatch_key(entry, rng)
    if result is not None:
        result["dispatch"] = {"AutogradCUDA": next(iter(result["dispatch"].values()))}
    return result


@mutator
def schema_argument_renamed(entry: Entry, rng: random.Random) -> Entry | None:
    name = rng.choice(argument_names(entry) or [""])
    if not name:
        return None
    return {**entry, "name": re.sub(rf"\b{name}\b(?=[,)=])", misspelt(name, rng), entry["name"], count=1)}


@mutator
def schema_blank_lost(entry: Entry, rng: random.Random) -> Entry | None:
    return {**entry, "name": entry["name"].replace(", ", ",", 1)}


@mutator
def schema_default_changed(entry: Entry, rng: random.Random) -> Entry | None:
    return {**entry, "name": re.sub(r"=[^,)]+", "=7", entry["name"], count=1)}


@mutator
def schema_without_returns(entry: Entry, rng: random.Random) -> Entry | None:
    return {**entry, "name": entry["name"].partition(" -> ")[0]}


@mutator
def schema_operator_misspelt(entry: Entry, rng: random.Random) -> Entry | None:
    operator, _, rest = entry["name"].partition("(")
    base, dot, overload = operator.partition(".")
    return {**entry, "name": f"{misspelt(base, rng)}{dot}{overload}({rest}"}
