"""Checking after an edit only what it can have changed: the entries that it touches, and those that depend on them.

An earlier text that was checked as a whole is the base. Entries whose text is the same keep what was found in them, at
their new places; the others are read and checked in a model that knows the rest of the file from the base. Rules that
look at the file as a whole, and entries that depend on the edited ones in ways that are not known here, are judged
anew when the whole file is checked, which the session does when nobody types.
"""

from __future__ import annotations

from collections import abc
from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from derivlint.lint import Diagnostic, run_rules
from derivlint.lint.run import SUPPRESSIONS, judge_suppressions
from derivlint.lint.suppression import suppressions_of
from derivlint.lsp.checker import Checked, is_broken
from derivlint.lsp.partial import PartialModel
from derivlint.lsp.regions import Edit, boundaries, find_edit
from derivlint.lsp.workspace import Project, result_id
from derivlint.meaning.definedness import keeps_contract
from derivlint.meaning.siblings import common_name
from derivlint.model import PLAIN, Entry, Model
from derivlint.model.read import read_entry
from derivlint.operators import Book
from derivlint.project.findings import Findings, judge
from derivlint.project.narrowing import rule_names
from derivlint.source import SourceFile
from derivlint.source.file import BOM
from derivlint.yaml_reader import Document, Mapping, Node, Sequence, read_yaml
from derivlint.yaml_reader.build import NodeBuilder
from derivlint.yaml_reader.events import open_events
from derivlint.yaml_reader.problems import ReadError, YamlProblem

#: With more edited entries than this, the whole file is checked.
MAX_EDITED = 12
#: How many entries are checked because they depend on edited ones; where more do, they wait for the whole file.
MAX_DEPENDENT = 40
#: Rules that report at some entry what the file lacks.
OF_THE_FILE = frozenset({"missing-foreach-reference"})
#: A comment for the whole file decides what counts everywhere.
IGNORE_FILE = "ignore-file"
#: What may stand before and behind the name of an operator in those of its variants.
_BEFORE = ("_foreach_", "_")
_BEHIND = ("_backward", "_forward", "_copy", "_")


def check_edit(source: SourceFile, project: Project, before: Checked) -> Checked | None:
    """Check a text after an edit.

    Args:
        source: the text.
        project: what it is checked with.
        before: the check of an earlier text.

    Returns:
        what is found; None where the whole text is to be checked.
    """
    base = before.base or before
    bounds = _ground(base.analysis.model).bounds if _is_base(base, project) else None
    if bounds is None or IGNORE_FILE in source.text:
        return None
    edit = find_edit(base.source.text, source.text, bounds)
    if edit is None or edit.last - edit.first > MAX_EDITED:
        return None
    read = _read_edited(source, edit, base.analysis.model)
    if read is None:
        return None
    edited, problems = read
    replaced = frozenset(range(edit.first, edit.last))
    model = base.analysis.model
    dependent = set(_dependents(model, edit, edited)) - replaced
    nodes: dict[int, Node] = dict(zip(range(edit.first, edit.last), edited, strict=False))
    for index in dependent:
        found = _nodes(source.text, *edit.part(index))
        if found is None or len(found) != 1:
            return None
        nodes[index] = found[0]
    nodes = dict(sorted(nodes.items()))
    document = Document(source, _list_of(nodes), problems)
    part = PartialModel(document, model, nodes, replaced | dependent)
    affected = replaced | dependent | {edit.first}
    kept = [
        edit.moved_diagnostic(item)
        for item in base.shown
        if item.rule in OF_THE_FILE or edit.item_before(item.span.start) not in affected
    ]
    new = [item for item in _found(part, project) if edit.item_after(item.span.start) in affected]
    shown = tuple(sorted({*kept, *new}))
    return Checked(source, project, before.analysis, shown, result_id(source, project, shown), base=base, edit=edit)


class _Ground(Struct, frozen=True):
    """What is worked out once for a base.

    Attributes:
        bounds: where the parts of its items begin; None where it cannot be a base.
        families: the positions of the entries of a family of operators.
    """

    bounds: list[int] | None
    families: abc.Mapping[str, list[int]]


def _ground(model: Model) -> _Ground:
    return model.once(_Ground, lambda: _Ground(_bounds_of(model), _families(model)))


def _is_base(base: Checked, project: Project) -> bool:
    """Whether texts can be compared with one that was checked."""
    if base.project is not project or base.analysis.model.source is not base.source:
        return False
    # what a baseline knows is counted over the whole file
    return project.narrowing.baseline is None and project.narrowing.changes is None


def _bounds_of(model: Model) -> list[int] | None:
    root = model.document.root
    if is_broken(model.document) or model.layout is not PLAIN or model.versions is not None:
        return None
    if not isinstance(root, Sequence) or root.flow or root.tag is not None or not root.items:
        return None
    text = model.source.text
    if IGNORE_FILE in text or text.startswith(BOM) or model.is_of_another_release or not keeps_contract(model):
        return None
    if "&" in text and _has_aliases(root):
        return None
    return boundaries(model.source, root)


def _has_aliases(root: Sequence) -> bool:
    """Whether a node stands elsewhere than where it is used."""
    todo: list[Node] = [root]
    while todo:
        node = todo.pop()
        inner: list[Node] = []
        if isinstance(node, Sequence):
            inner = [*node.items]
        elif isinstance(node, Mapping):
            inner = [part for pair in node.pairs for part in pair]
        if any(first.end > second.start for first, second in pairwise([*inner])):
            return True
        todo += inner
    return False


def _read_edited(source: SourceFile, edit: Edit, base: Model) -> tuple[list[Node], tuple[YamlProblem, ...]] | None:
    """The nodes of the edited items, and what is wrong with their YAML."""
    nodes = _nodes(source.text, edit.start, edit.end)
    count = edit.last - edit.first
    if nodes is not None:
        return (nodes, ()) if len(nodes) == count else None
    document = read_yaml(source)
    root, known = document.root, base.document.root
    if not isinstance(root, Sequence) or root.flow or not isinstance(known, Sequence):
        return None
    if any(not edit.start <= problem.span.start <= edit.end for problem in document.problems):
        return None
    between = [node for node in root.items if edit.start <= node.start < edit.end]
    others = [node.span for node in root.items if not edit.start <= node.start < edit.end]
    same = [item.span for item in known.items[: edit.first]]
    same += [item.span.shift(edit.delta) for item in known.items[edit.last :]]
    # half a line may belong to the item before, and an open quote takes what follows
    if others != same or len(between) > count or (len(between) < count and not is_broken(document)):
        return None
    return between, document.problems


def _nodes(text: str, start: int, end: int) -> list[Node] | None:
    """The items of a piece of the list, None where the piece cannot be read on its own."""
    from ruamel.yaml.error import YAMLError

    piece = text[start:end]
    if "---" in piece or "..." in piece:
        return None
    builder = NodeBuilder(text, start, {})
    try:
        root = builder.build(open_events(piece, pure=False))
    except (ReadError, YAMLError, UnicodeError):
        return None
    if builder.problems or builder.anchors:
        return None
    if root is None:
        return []
    if not isinstance(root, Sequence) or root.flow or root.tag is not None:
        return None
    in_margin = root.start == 0 or text[root.start - 1] in "\r\n"
    return list(root.items) if in_margin else None


def _list_of(nodes: abc.Mapping[int, Node]) -> Sequence:
    items = tuple(nodes.values())
    root = Sequence(items[0].start if items else 0, items[-1].end if items else 0, None, False)
    root.items = items
    return root


def _found(part: PartialModel, project: Project) -> tuple[Diagnostic, ...]:
    """What the rules find in a part of a file and is left of it, as in the whole."""
    rules = tuple(rule for rule in project.rules if rule.name not in OF_THE_FILE)
    ran = frozenset(rule.name for rule in rules)
    names = rule_names(ran)
    result = run_rules(part, tuple(rule for rule in rules if rule.target != SUPPRESSIONS))
    judged = judge_suppressions(part, rules, result.diagnostics, names=names, crashed=result.crashed)
    every = tuple(sorted({*result.diagnostics, *judged.diagnostics}))
    silenced = frozenset(suppressions_of(part).matches(every, names))
    findings = Findings(every, silenced, ran, 0, part.n_entries, part.n_formulas)
    return judge(findings, part.source, project.settings, project.narrowing, part).shown


def _dependents(model: Model, edit: Edit, edited: list[Node]) -> Iterator[int]:
    """The positions of the entries that are judged by what the edited ones say."""
    old = model.all_entries[edit.first : edit.last]
    new = [read_entry(edit.first + index, node) for index, node in enumerate(edited)]
    families = _ground(model).families
    names = {name for entry in (*old, *new) if (name := _base_of(entry)) is not None}
    for family in {family for name in names for family in _families_of(name)}:
        yield from families.get(family, ())
    if list(map(_outward, old)) == list(map(_outward, new)):
        return
    users = [
        entry.index
        for entry in model.all_entries
        if any(name in (line.text or "") for line in entry.lines for name in names)
    ]
    if len(users) <= MAX_DEPENDENT:
        yield from users


def _families(model: Model) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for entry in model.all_entries:
        name = _base_of(entry)
        for family in _families_of(name) if name is not None else ():
            found.setdefault(family, []).append(entry.index)
    return found


def _base_of(entry: Entry) -> str | None:
    return entry.operator.partition(".")[0] if entry.operator is not None else None


def _families_of(name: str) -> set[str]:
    """What the names of the variants of an operator, and of operators that are written alike, have in common."""
    found = {common_name(name)[0]}
    for prefix in _BEFORE:
        name = name.removeprefix(prefix)
    for suffix in _BEHIND:
        name = name.removesuffix(suffix)
    return {*found, common_name(name)[0]}


def _outward(entry: Entry) -> object:
    """What others can see of an entry: its name, which arguments and outputs it has formulas for, and which kinds."""
    lines = [
        (body.key, line.key_text, line.auto, line.says_non_differentiable, _may_be_zero(line.text or ""))
        for body in entry.bodies
        for line in body.lines
    ]
    return entry.name.value if entry.name is not None else None, lines


def _may_be_zero(formula: str) -> bool:
    return any(name in formula for name in Book.by_hand("zero"))
