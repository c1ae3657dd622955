"""Slips in what an entry declares, and in its lines: schemas, keys, whole lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from tests.mutators.syntax import Change

#: Gives the changes of the text of one entry, which begins with "- name:" and ends with a line break.
EntrySlip = Callable[[str], Iterator[Change]]

_KEY = re.compile(r"^(  +)([\w, ]+):(?= )", re.MULTILINE)
_DECLARATIONS = ("name", "dispatch", "output_differentiability")


def _of_name(pattern: str, *replacements: str) -> EntrySlip:
    """A slip at every place of the schema that matches."""
    compiled = re.compile(pattern)

    def found(text: str) -> Iterator[Change]:
        end = text.index("\n")
        for match in compiled.finditer(text, 0, end):
            for replacement in replacements:
                if match.expand(replacement) != match.group():
                    yield match.start(), match.end(), match.expand(replacement)

    return found


def _of_lines(pattern: str, *replacements: str) -> EntrySlip:
    """A slip at every place of the lines below the schema that matches."""
    compiled = re.compile(pattern, re.MULTILINE)

    def found(text: str) -> Iterator[Change]:
        for match in compiled.finditer(text, text.index("\n")):
            for replacement in replacements:
                if match.expand(replacement) != match.group():
                    yield match.start(), match.end(), match.expand(replacement)

    return found


def _keys(text: str) -> list[re.Match[str]]:
    return [match for match in _KEY.finditer(text) if match[2] not in _DECLARATIONS]


def _lines(text: str) -> list[tuple[int, int]]:
    """The lines of the formulas, each with those that continue it."""
    starts = [match.start() for match in _keys(text)]
    return list(zip(starts, [*starts[1:], len(text.rstrip("\n")) + 1], strict=True)) if starts else []


def misspelt_key(text: str) -> Iterator[Change]:
    for match in _keys(text):
        for name in re.finditer(r"\w+", match[2]):
            start = match.start(2) + name.start()
            word = name.group()
            yield start, start + len(word), word[:-1] if len(word) > 1 else word * 2
            yield start, start + len(word), word.swapcase()


def key_of_another(text: str) -> Iterator[Change]:
    """A key gets the name of another argument of the schema."""
    head = text[: text.index("\n")]
    names = re.findall(r"(\w+)(?=[,)=])", head.partition("->")[0])
    for match in _keys(text):
        yield from ((match.start(2), match.end(2), other) for other in names if other != match[2])


def key_with_less(text: str) -> Iterator[Change]:
    for match in _keys(text):
        names = match[2].split(", ")
        if len(names) > 1:
            yield from (
                (match.start(2), match.end(2), ", ".join(names[:index] + names[index + 1 :]))
                for index in range(len(names))
            )


def key_with_more(text: str) -> Iterator[Change]:
    keys = _keys(text)
    for match in keys:
        yield from ((match.end(2), match.end(2), f", {other[2]}") for other in keys if "," not in other[2])


def reordered_key(text: str) -> Iterator[Change]:
    for match in _keys(text):
        names = match[2].split(", ")
        for index in range(len(names) - 1):
            order = [*names[:index], names[index + 1], names[index], *names[index + 2 :]]
            yield match.start(2), match.end(2), ", ".join(order)


def deleted_line(text: str) -> Iterator[Change]:
    return ((start, end, "") for start, end in _lines(text))


def duplicated_line(text: str) -> Iterator[Change]:
    return ((end, end, text[start:end]) for start, end in _lines(text))


def swapped_lines(text: str) -> Iterator[Change]:
    """Two keys get the formulas of each other."""
    lines = _lines(text)
    keys = _keys(text)
    for one in range(len(lines) - 1):
        first, second = text[keys[one].end() : lines[one][1]], text[keys[one + 1].end() : lines[one + 1][1]]
        if first != second:
            yield keys[one].end(), lines[one + 1][1], second + text[keys[one + 1].start() : keys[one + 1].end()] + first


def exchanged_lines(text: str) -> Iterator[Change]:
    """Two keys exchange their places, which changes nothing."""
    lines = _lines(text)
    for (start, middle), (_, end) in pairwise(lines):
        yield start, end, text[middle:end] + text[start:middle]


def indentation(text: str) -> Iterator[Change]:
    for match in _keys(text):
        yield match.start(), match.start(), " "
        yield match.start(), match.start() + 1, ""


def _items(text: str) -> Iterator[tuple[int, int, list[str]]]:
    match = re.search(r"^  output_differentiability: \[(.*)\]$", text, re.MULTILINE)
    if match is not None:
        yield match.start(1), match.end(1), match[1].split(", ")


def flipped_differentiability(text: str) -> Iterator[Change]:
    for start, end, items in _items(text):
        for index, item in enumerate(items):
            other = {"True": "False", "False": "True"}.get(item, "True")
            yield start, end, ", ".join([*items[:index], other, *items[index + 1 :]])


def other_number_of_outputs(text: str) -> Iterator[Change]:
    for start, end, items in _items(text):
        yield start, end, ", ".join([*items, "False"])
        yield start, end, ", ".join(items[:-1])


def added_differentiability(text: str) -> Iterator[Change]:
    if "output_differentiability" not in text and "->" in text:
        end = text.index("\n") + 1
        for items in ("[False]", "[True]", "[True, False]"):
            yield end, end, f"  output_differentiability: {items}\n"


def added_line(text: str) -> Iterator[Change]:
    """A line more, as it is left by copying."""
    end = len(text.rstrip("\n")) + 1
    for line in ("self: grad", "result: auto_linear", "result: auto_element_wise", "other: grad"):
        yield end, end, f"  {line}\n"


def duplicated_entry(text: str) -> Iterator[Change]:
    yield len(text), len(text), text


def deleted_name(text: str) -> Iterator[Change]:
    yield 0, text.index("\n") + 1, ""


ENTRY_SLIPS: dict[str, EntrySlip] = {
    "operator name": _of_name(r"(?<=name: )(\w+)(\w)(\w)", r"\1\3\2", r"\1\2", r"\1\2\3_"),
    "overload": _of_name(r"\.(\w+)(?=\()", "", r".\1s", ".Tensor", ".Scalar", ".dim"),
    "schema argument": _of_name(r"(?<= )(\w)(\w+)(?=[,)=])", r"\1\2s", r"\1"),
    "schema type": _of_name(
        r"(?<=[( ])(Tensor|SymInt|int|Scalar|bool|float)\b", "Tensor?", "int[]", "SymInt", "Tensor"
    ),
    "schema default": _of_name(r"=(True|False|None|\d+|\[\])", "", "=0", "=True", "=1", "=None"),
    "schema return": _of_name(r"-> (.*)$", "-> (Tensor, Tensor)", "-> Tensor[]", "-> Tensor", ""),
    "schema return name": _of_name(r"(?<=Tensor )(\w+)(?=[,)])(?=[^>]*$)", r"\1_", "out"),
    "schema bracket": _of_name(r"[()]", ""),
    "schema comma": _of_name(r", ", " ", "; "),
    "schema arrow": _of_name(r"->", "-", "=>"),
    "schema keyword marker": _of_name(r"\*, ", ""),
    "schema annotation": _of_name(r"\((a!?)\)", "", "(b)"),
    "misspelt key": misspelt_key,
    "key of another": key_of_another,
    "key with less": key_with_less,
    "key with more": key_with_more,
    "reordered key": reordered_key,
    "lost colon": _of_lines(r"^(  \w+): ", r"\1 "),
    "lost blank": _of_lines(r"^(  \w+): ", r"\1:"),
    "quote": _of_lines(r"^(  \w+): (?=\w)", r'\1: "'),
    "deleted line": deleted_line,
    "duplicated line": duplicated_line,
    "swapped lines": swapped_lines,
    "exchanged lines": exchanged_lines,
    "indentation": indentation,
    "flipped differentiability": flipped_differentiability,
    "number of outputs": other_number_of_outputs,
    "added differentiability": added_differentiability,
    "misspelt declaration": _of_lines(r"output_differentiability|dispatch", "output_differentiabilty", "dispach"),
    "misspelt non_differentiable": _of_lines(r"non_differentiable", "non_differentiabel", "non-differentiable", "grad"),
    "automatic declaration": _of_lines(
        r"auto_(linear|element_wise)", "auto_linear", "auto_element_wise", "auto_lineare", "self_t", "auto linear"
    ),
    "dispatch key": _of_lines(r"^    (Default|AutogradNestedTensor|AutogradCUDA):", "    Defualt:", "    CUDA:"),
    "added line": added_line,
    "duplicated entry": duplicated_entry,
    "deleted name": deleted_name,
}
