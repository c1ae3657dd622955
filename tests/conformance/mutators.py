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
from typing import Any

Entry = dict[str, Any]
Mutator = Callable[[Entry, random.Random], "Entry | None"]

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


def rewritten(
    entry: Entry, rng: random.Random, pattern: str, new: str, *, backward: bool, count: int = 1
) -> Entry | None:
    """The entry with a pattern replaced in one formula that has it."""
    candidates = [key for key in keys(entry, backward=backward) if re.search(pattern, body(entry)[key])]
    if not candidates:
        return None
    key = rng.choice(candidates)
    return with_formula(entry, key, re.sub(pattern, new, body(entry)[key], count=count))


@mutator
def key_misspelt(entry: Entry, rng: random.Random) -> Entry | None:
    candidates = keys(entry)
    if not candidates:
        return None
    key = rng.choice(candidates)
    first, *rest = key.split(", ")
    return rename_key(entry, key, ", ".join([misspelt(first, rng), *rest]))


@mutator
def second_name_misspelt(entry: Entry, rng: random.Random) -> Entry | None:
    candidates = [key for key in keys(entry, backward=True) if "," in key]
    if not candidates:
        return None
    key = rng.choice(candidates)
    first, second, *rest = [name.strip() for name in key.split(",")]
    return rename_key(entry, key, ", ".join([first, misspelt(second, rng), *rest]))


@mutator
def trailing_comma_in_key(entry: Entry, rng: random.Random) -> Entry | None:
    candidates = keys(entry, backward=True)
    if not candidates:
        return None
    key = rng.choice(candidates)
    return rename_key(entry, key, f"{key},")


@mutator
def grad_becomes_first_of_grads(entry: Entry, rng: random.Random) -> Entry | None:
    result = copy.deepcopy(entry)
    formulas = body(result)
    for key in keys(entry, backward=True):
        formulas[key] = re.sub(r"\bgrad\b", "grads[0]", formulas[key])
    return result if result != entry else None


@mutator
def one_grad_becomes_grads(entry: Entry, rng: random.Random) -> Entry | None:
    return rewritten(entry, rng, r"\bgrad\b", "grads[0]", backward=True)


@mutator
def grads_index_too_large(entry: Entry, rng: random.Random) -> Entry | None:
    return rewritten(entry, rng, r"\bgrad\b", "grads[7]", backward=True)


@mutator
def grads_becomes_grad(entry: Entry, rng: random.Random) -> Entry | None:
    return rewritten(entry, rng, r"\bgrads\[\d\]", "grad", backward=True)


@mutator
def named_gradient_becomes_indexed(entry: Entry, rng: random.Random) -> Entry | None:
    return rewritten(entry, rng, r"\bgrad_(?=[A-Z])\w+", "grads[1]", backward=True)


@mutator
def sizes_instead_of_sym_sizes(entry: Entry, rng: random.Random) -> Entry | None:
    return rewritten(entry, rng, r"sym_sizes\(\)", "sizes()", backward=True)


@mutator
def size_instead_of_sym_size(entry: Entry, rng: random.Random) -> Entry | None:
    return rewritten(entry, rng, r"sym_size\(", "size(", backward=True)


@mutator
def strides_of_another(entry: Entry, rng: random.Random) -> Entry | None:
    names = argument_names(entry)
    candidates = keys(entry, backward=True)
    if not candidates:
        return None
    key, name = rng.choice(candidates), rng.choice(names)
    return with_formula(entry, key, f"as_strided_like({body(entry)[key]}, {name}.sym_strides())")


@mutator
def tangent_suffix_lost(entry: Entry, rng: random.Random) -> Entry | None:
    return rewritten(entry, rng, r"(\w+)_t\b", r"\1", backward=False)


@mutator
def primal_suffix_lost(entry: Entry, rng: random.Random) -> Entry | None:
    return rewritten(entry, rng, r"(\w+)_p\b", r"\1", backward=False)


@mutator
def no_tangent_left(entry: Entry, rng: random.Random) -> Entry | None:
    return rewritten(entry, rng, r"_t\b", "_p", backward=False, count=0)


@mutator
def formula_left_empty(entry: Entry, rng: random.Random) -> Entry | None:
    candidates = keys(entry)
    return with_formula(entry, rng.choice(candidates), None) if candidates else None


@mutator
def formula_is_a_number(entry: Entry, rng: random.Random) -> Entry | None:
    candidates = keys(entry)
    return with_formula(entry, rng.choice(candidates), 0) if candidates else None


@mutator
def formula_for_non_tensor(entry: Entry, rng: random.Random) -> Entry | None:
    pieces = entry["name"].partition("(")[2].rpartition(") -> ")[0].split(", ")
    plain = [
        piece.split("=")[0].split(" ")[-1] for piece in pieces if re.match(r"(int|float|bool|Scalar|SymInt)\b", piece)
    ]
    plain = [name for name in plain if name not in body(entry)]
    if not plain:
        return None
    return with_formula(entry, rng.choice(plain), "grad")


@mutator
def overlapping_non_differentiable(entry: Entry, rng: random.Random) -> Entry | None:
    candidates = [key for key in keys(entry, backward=True) if "," not in key]
    if not candidates:
        return None
    key = rng.choice(candidates)
    return with_formula(entry, f"{key}, {key}", "non_differentiable")


@mutator
def replaced_by_non_differentiable(entry: Entry, rng: random.Random) -> Entry | None:
    candidates = keys(entry, backward=True)
    return with_formula(entry, rng.choice(candidates), "non_differentiable") if candidates else None


@mutator
def non_differentiable_output(entry: Entry, rng: random.Random) -> Entry | None:
    candidates = keys(entry, backward=False)
    return with_formula(entry, rng.choice(candidates), "non_differentiable") if candidates else None


@mutator
def backward_key_dropped(entry: Entry, rng: random.Random) -> Entry | None:
    candidates = keys(entry, backward=True)
    if not candidates:
        return None
    result = copy.deepcopy(entry)
    del body(result)[rng.choice(candidates)]
    return result


@mutator
def element_wise_everywhere(entry: Entry, rng: random.Random) -> Entry | None:
    candidates = keys(entry, backward=False)
    return with_formula(entry, rng.choice(candidates), "auto_element_wise") if candidates else None


@mutator
def linear_everywhere(entry: Entry, rng: random.Random) -> Entry | None:
    candidates = keys(entry, backward=False)
    return with_formula(entry, rng.choice(candidates), "auto_linear") if candidates else None


@mutator
def automatic_formula_misspelt(entry: Entry, rng: random.Random) -> Entry | None:
    for key, text in body(entry).items():
        if text in ("auto_linear", "auto_element_wise"):
            return with_formula(entry, key, misspelt(text, rng))
    return None


@mutator
def forward_key_out_of_range(entry: Entry, rng: random.Random) -> Entry | None:
    candidates = [key for key in body(entry) if key == "result"]
    return rename_key(entry, "result", "result9") if candidates else None


@mutator
def forward_key_with_index(entry: Entry, rng: random.Random) -> Entry | None:
    return rename_key(entry, "result", "result0") if "result" in body(entry) else None


@mutator
def differentiability_too_long(entry: Entry, rng: random.Random) -> Entry | None:
    result = copy.deepcopy(entry)
    result["output_differentiability"] = [*entry.get("output_differentiability", [True] * 4), True]
    return result


@mutator
def differentiability_flipped(entry: Entry, rng: random.Random) -> Entry | None:
    values = entry.get("output_differentiability")
    if not values or not all(isinstance(value, bool) for value in values):
        return None
    result = copy.deepcopy(entry)
    at = rng.randrange(len(values))
    result["output_differentiability"][at] = not values[at]
    return result


@mutator
def differentiability_switched_off(entry: Entry, rng: random.Random) -> Entry | None:
    result = copy.deepcopy(entry)
    result["output_differentiability"] = [False]
    return result


@mutator
def differentiability_is_a_word(entry: Entry, rng: random.Random) -> Entry | None:
    result = copy.deepcopy(entry)
    result["output_differentiability"] = "True"
    return result


@mutator
def unknown_dispatch_key(entry: Entry, rng: random.Random) -> Entry | None:
    if "dispatch" in entry:
        return None
    formulas = {key: text for key, text in entry.items() if key not in SPECIAL}
    result = {key: value for key, value in entry.items() if key in SPECIAL}
    result["dispatch"] = {rng.choice(["AutogradGPU", "CUDA", "default", "Autograd"]): copy.deepcopy(formulas)}
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
    result = copy.deepcopy(entry)
    result["name"] = re.sub(rf"\b{name}\b(?=[,)=])", misspelt(name, rng), entry["name"], count=1)
    return result if result != entry else None


@mutator
def schema_blank_lost(entry: Entry, rng: random.Random) -> Entry | None:
    result = copy.deepcopy(entry)
    result["name"] = entry["name"].replace(", ", ",", 1)
    return result if result != entry else None


@mutator
def schema_default_changed(entry: Entry, rng: random.Random) -> Entry | None:
    result = copy.deepcopy(entry)
    result["name"] = re.sub(r"=[^,)]+", "=7", entry["name"], count=1)
    return result if result != entry else None


@mutator
def schema_without_returns(entry: Entry, rng: random.Random) -> Entry | None:
    result = copy.deepcopy(entry)
    result["name"] = entry["name"].partition(" -> ")[0]
    return result


@mutator
def schema_operator_misspelt(entry: Entry, rng: random.Random) -> Entry | None:
    operator, _, rest = entry["name"].partition("(")
    base, dot, overload = operator.partition(".")
    result = copy.deepcopy(entry)
    result["name"] = f"{misspelt(base, rng)}{dot}{overload}({rest}"
    return result


@mutator
def result_properties_saved(entry: Entry, rng: random.Random) -> Entry | None:
    candidates = keys(entry, backward=True)
    if not candidates:
        return None
    key = rng.choice(candidates)
    return with_formula(entry, key, f"expand_to({body(entry)[key]}, result.sym_sizes())")


@mutator
def geometry_of_an_argument(entry: Entry, rng: random.Random) -> Entry | None:
    candidates = keys(entry, backward=True)
    if not candidates:
        return None
    key = rng.choice(candidates)
    name = rng.choice(argument_names(entry))
    return with_formula(entry, key, f"with_geometry({body(entry)[key]}, TensorGeometry({name}))")


@mutator
def original_self_in_forward(entry: Entry, rng: random.Random) -> Entry | None:
    return rewritten(entry, rng, r"\bself_t\b", "original_self_t", backward=False, count=0)


@mutator
def value_of_self_in_forward(entry: Entry, rng: random.Random) -> Entry | None:
    candidates = keys(entry, backward=False)
    if not candidates or "self" not in argument_names(entry):
        return None
    key = rng.choice(candidates)
    return with_formula(entry, key, f"({body(entry)[key]}) * self_p")
