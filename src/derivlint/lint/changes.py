"""Differences between two versions of a file: entries, functions and lines.

Entries are compared as YAML values: moved, refolded and requoted entries are equal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from difflib import SequenceMatcher

from derivlint.lint.engine.ownership import EntryFinder
from derivlint.lint.suppressions.suppression_comments import end_of_text, read_suppressions
from derivlint.model import Entry, Model, build_model
from derivlint.source import SourceFile
from derivlint.yaml_reader import Mapping, Scalar, Sequence, YamlNode, read_yaml


def changed_entries(model: Model, old: SourceFile) -> tuple[Entry, ...]:
    """Return the entries that the old version lacks."""
    if old.text == model.source.text:
        return ()
    before = Counter(_contents(build_model(old, model.natives, model.layout)))
    changed = []
    for entry, content in zip(model.all_entries, _contents(model), strict=True):
        before[content] -= 1
        if before[content] < 0:
            changed.append(entry)
    return tuple(changed)


def changed_functions(old: SourceFile, new: SourceFile) -> frozenset[str]:
    """Return the names of functions that were added, changed or removed in a file of native functions."""
    if old.text == new.text:
        return frozenset()
    before, after = _functions(old), _functions(new)
    return frozenset(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def changed_lines(old: SourceFile, new: SourceFile) -> frozenset[int]:
    """Return the numbers of added and changed lines."""
    before, after = old.text.splitlines(), new.text.splitlines()
    first = 0
    while first < min(len(before), len(after)) and before[first] == after[first]:
        first += 1
    last = 0
    while last < min(len(before), len(after)) - first and before[-1 - last] == after[-1 - last]:
        last += 1
    # SequenceMatcher is slow, so strip the common prefix and suffix
    matcher = SequenceMatcher(
        None, before[first : len(before) - last], after[first : len(after) - last], autojunk=False
    )
    changed: set[int] = set()
    for tag, _, _, start, end in matcher.get_opcodes():
        if tag != "equal":
            changed.update(range(first + start + 1, first + end + 1))
    return frozenset(changed)


def _contents(model: Model) -> list[Hashable]:
    """The values of all entries, with the rule names in their suppressions: removing one reveals findings."""
    contents: list[Hashable] = [node_value(entry.node) for entry in model.all_entries]
    suppressions = read_suppressions(model.document)
    if suppressions:
        finder = EntryFinder(model)
        places = {id(entry): index for index, entry in enumerate(model.all_entries)}
        for suppression in suppressions:
            start = suppression.comment.span.start
            behind = end_of_text(model.source.text, start) - 1
            entry = finder.at(start) or finder.behind(start) if suppression.comment.own_line else finder.at(behind)
            if entry is not None:
                index = places[id(entry)]
                contents[index] = (contents[index], tuple(name.text for name in suppression.names))
    return contents


def node_value(node: YamlNode) -> Hashable:
    """The value of a YAML node, ignoring layout and repeated blanks."""
    if isinstance(node, Scalar):
        return (node.kind, " ".join(node.value.split()))
    if isinstance(node, Sequence):
        return tuple(map(node_value, node.items))
    assert isinstance(node, Mapping)
    return ("mapping", *((node_value(pair.key), node_value(pair.value)) for pair in node.pairs))


def _functions(source: SourceFile) -> dict[str, Hashable]:
    """The values of the items in a file of native functions, by full name."""
    functions: dict[str, Hashable] = {}
    root = read_yaml(source).root
    # back ends list functions under several keys
    lists = [pair.value for pair in root.pairs] if isinstance(root, Mapping) else [root]
    for items in lists:
        for item in items.items if isinstance(items, Sequence) else ():
            func = item.get("func") if isinstance(item, Mapping) else None
            if isinstance(func, Scalar):
                functions[func.value.partition("(")[0].strip()] = node_value(item)
    return functions
