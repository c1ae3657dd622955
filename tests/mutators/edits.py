"""Edits of a derivatives file as someone makes who types, moves lines, or breaks the YAML for a while."""

from __future__ import annotations

from random import Random

_INSERTED = ("x", " ", "grad", "(", "\n", "self * ", "# note\n", "'", "&a ", "*a ", "- ", "\t")
_VALUES = ("auto_linear", "auto_element_wise", "non_differentiable", "grad", "grads[1]", "not_implemented('x')")
_COMMENTS = (
    "# note\n",
    "# derivlint: ignore-file[undefined-name] why\n",
    "# derivlint: ignore[undefined-function] why\n",
    "  # derivlint: ignore[wrong-gradient, undefined-name]\n",
)


def edited(text: str, random: Random) -> str:
    """The text after one random edit, which may change two places at once."""
    at = random.randrange(max(len(text), 1))
    if random.random() < 0.15:
        text = _edited(text, random, max(at + random.randint(-400, 400), 0))
    return _edited(text, random, at)


def _edited(text: str, random: Random, at: int) -> str:
    start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at) + 1 or len(text)
    item, following = _item(text, at)
    match random.randrange(16):
        case 0 | 1:
            return text[:at] + random.choice(_INSERTED) + text[at:]
        case 2 | 3:
            return text[:at] + text[at + random.randint(1, 4) :]
        case 4:
            return text[:at] + random.choice("abc()* :\"'") + text[at + 1 :]
        case 5:
            return text[:start] + text[end:]
        case 6:
            return text[:end] + text[start:end] + text[end:]
        case 7:
            return text[:start] + random.choice(_COMMENTS) + text[start:]
        case 8:
            colon = text.find(": ", at)
            stop = text.find("\n", colon)
            return f"{text[:colon]}: {random.choice(_VALUES)}{text[stop:]}" if 0 <= colon < stop else text
        case 9:
            return text[:following] + text[item:following] + text[following:]
        case 10:
            return text[:item] + text[following:]
        case 11:
            after = _item(text, following)[1] if following < len(text) else following
            return text[:item] + text[following:after] + text[item:following] + text[after:]
        case 12:
            name = text.find("(", item)
            return text[: name - 1] + text[name:] if name > 0 else text
        case 13 | 14:
            return _renamed(text, random, item)
        case _:
            return (
                text.replace("\n", "\r\n") if "\r" not in text and random.random() < 0.2 else text[:start] + text[at:]
            )


def _renamed(text: str, random: Random, item: int) -> str:
    """The text with another operator in an item: none that exists, or that of another entry, whose formulas call it."""
    start, end = _operator(text, item)
    if random.random() < 0.5:
        return text[:end] + random.choice("xyz_") + text[end:]
    return text[:start] + text[slice(*_operator(text, random.randrange(max(len(text), 1))))] + text[end:]


def _operator(text: str, at: int) -> tuple[int, int]:
    """Where the name of the operator of an item is; an empty range where it has none."""
    start = text.find("name: ", _item(text, at)[0]) + len("name: ")
    end = text.find("(", start, start + 60)
    return (start, end) if end > 0 else (start, start)


def _item(text: str, at: int) -> tuple[int, int]:
    """Where the item of the list at an offset begins, and the next one."""
    start = text.rfind("\n- name:", 0, at + 1) + 1
    end = text.find("\n- name:", max(at, start + 1)) + 1
    return start, end or len(text)
