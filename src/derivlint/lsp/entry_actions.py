"""Code actions for one entry: adding its missing keys, adding or expanding automatic forward formulas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from derivlint.analysis import analyses_of
from derivlint.analysis.interpretation.degree import Degree
from derivlint.analysis.interpretation.facts import Dependence
from derivlint.lint import TextEdit
from derivlint.model import DerivativeFormula, DispatchBody, Entry, Model, Role
from derivlint.model.keys import AUTO_ELEMENT_WISE, AUTO_LINEAR
from derivlint.source import SourceFile, Span
from derivlint.yaml_reader import Mapping, Scalar, read_yaml


class EntryAction(Struct, frozen=True):
    """A change of an entry.

    Attributes:
        title: what it does.
        edits: the edits.
        needs_check: whether it is right only if the rules find nothing new in the entry then.
    """

    title: str
    edits: tuple[TextEdit, ...]
    needs_check: bool = False


def entry_actions(model: Model, offset: int) -> Iterator[EntryAction]:
    """The changes of the entry at a place.

    Args:
        model: the file.
        offset: the place.
    """
    entry = next((item for item in model.all_entries if item.span.start <= offset <= item.span.end), None)
    if entry is None or entry.function is None or entry.mapping is None or entry.mapping.flow:
        return
    if len(entry.bodies) == 1 and entry.dispatch is None:
        yield from _missing_keys(model.source, entry, entry.bodies[0])
        yield from _automatic(model, entry, entry.bodies[0])
    for formula in entry.formulas:
        if formula.auto is not None and formula.key.start <= offset - entry.start <= max(
            formula.key.end, formula.value.end
        ):
            yield from _expanded(formula)


def _missing_keys(source: SourceFile, entry: Entry, body: DispatchBody) -> Iterator[EntryAction]:
    """Add a ``not_implemented`` formula for each argument without one."""
    function = entry.function
    assert function is not None
    if not body.is_resolved or any(formula.value.end < formula.key.end for formula in body.formulas):
        return
    written = {name.text for formula in body.formulas if formula.role is not Role.FORWARD for name in formula.names}
    missing = [name for name in function.tensor_arguments if name not in written]
    if missing:
        base = (entry.operator or "").partition(".")[0]
        lines = [f'{name}: not_implemented("{base}: {name}")' for name in missing]
        names = ", ".join(f'"{name}"' for name in missing)
        yield EntryAction(
            f"Add the missing {'key' if len(missing) == 1 else 'keys'} {names}", _added(source, entry, lines)
        )


def _automatic(model: Model, entry: Entry, body: DispatchBody) -> Iterator[EntryAction]:
    """Add an automatic forward formula to an entry without any, if its gradient shows that it is right."""
    function = entry.function
    assert function is not None
    if body.info is None or not body.is_resolved or body.with_role(Role.FORWARD) or len(function.outputs) != 1:
        return
    analyses = analyses_of(model)
    backward = [analyses.interpretation(formula) for formula in analyses.formulas_of(body) if formula.is_backward]
    if not backward or any(item.root.degree is not Degree.LINEAR for item in backward):
        return
    names = {binding.name for binding in body.info.args_with_derivatives}
    output = function.outputs[0]
    values = {
        name
        for item in backward
        for name, dependence in item.root.dependence.items()
        if dependence > Dependence.METADATA and (name in names or name == output.name)
    }
    tensors = [name for name in function.tensor_arguments if name not in body.info.non_differentiable_arg_names]
    if set(tensors) != names:
        return
    kind = AUTO_ELEMENT_WISE if values and len(tensors) == 1 else None if values else AUTO_LINEAR
    if kind is not None:
        edits = _added(model.source, entry, [f"{output.key_name}: {kind}"])
        yield EntryAction(f'Add "{output.key_name}: {kind}"', edits, needs_check=True)


def _expanded(formula: DerivativeFormula) -> Iterator[EntryAction]:
    if formula.forward is None or formula.auto is None:
        return
    text = yaml_value(formula.forward.formula)
    if text is not None:
        yield EntryAction(f'Replace "{formula.auto}" by its formula', (TextEdit(formula.value_span, text),))


def _added(source: SourceFile, entry: Entry, lines: Iterable[str]) -> tuple[TextEdit, ...]:
    """The edit that adds lines at the end of an entry, with its indentation and line ends."""
    mapping = entry.mapping
    assert mapping is not None
    first = mapping.pairs[0].key
    number = source.position(max(entry.span.end - 1, entry.span.start)).line
    end = source.line_starts[number - 1] + len(source.line(number))
    indent = " " * (source.position(entry.place(first).start).column - 1)
    behind = source.text[end : end + 2]
    newline = behind if behind == "\r\n" else "\n"
    return (TextEdit(Span(end, end), "".join(f"{newline}{indent}{line}" for line in lines)),)


def yaml_value(text: str) -> str | None:
    """A text as a value on one line: plain where that is read back the same, else in double quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    for written in (text, f'"{escaped}"'):
        document = read_yaml(SourceFile("", f"key: {written}\n"))
        root = document.root
        if document.problems or not isinstance(root, Mapping) or len(root.pairs) != 1:
            continue
        value = root.pairs[0].value
        if isinstance(value, Scalar) and value.kind == "str" and value.value == text:
            return written
    return None
