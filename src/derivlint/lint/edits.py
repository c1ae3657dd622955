"""Fixes that several rules offer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from derivlint.lint.diagnostic import Fix, TextEdit
from derivlint.model import DerivativeFormula, Entry
from derivlint.schema.difference import replacement
from derivlint.yaml_reader import Mapping, Pair, Scalar
from derivlint.yaml_reader.rewrite import removal, rewrite

#: A part of a formula's text, from an offset to another, and what is wanted there.
Change = tuple[int, int, str]


def quote_text(text: str) -> str:
    """A text of one line as a quoted YAML scalar."""
    if '"' not in text and "\\" not in text:
        return f'"{text}"'
    return "'" + text.replace("'", "''") + "'"


def quote_scalar(entry: Entry, node: Scalar, title: str, *, safe: bool = True) -> Fix | None:
    """The fix that puts an unquoted scalar of an entry in quotes; None where it is quoted or empty."""
    if node.style != "plain" or not node.value or node.tag is not None or "\n" in node.value:
        return None
    return Fix(title, (TextEdit(entry.place(node), quote_text(node.value)),), safe=safe)


def schema_fix(entry: Entry, expected: str, *, safe: bool = False, renamed: dict[str, str] | None = None) -> Fix | None:
    """The fix that makes an entry's schema the expected one; None where the YAML would need more than that.

    Args:
        entry: the entry.
        expected: the schema.
        safe: whether it is certain that the schema is meant.
        renamed: the arguments and returns that get other names; their uses get them as well.
    """
    name = entry.name
    if name is None or not name.exact or (entry.mapping is not None and entry.mapping.flow):
        return None
    span, text = replacement(name.value, expected)
    if name.style not in ("plain", "single", "double") or (name.style != "plain" and set(text) & set("\"'\\")):
        return None
    edit = TextEdit(entry.place_in(name, span.start, span.end), text)
    uses = [each for old, new in (renamed or {}).items() for each in _renamed(entry, old, new)]
    return Fix("write the schema as PyTorch declares it", (edit, *uses), safe=safe)


#: What forward formulas and gradients make of the name of an argument or output.
_DERIVED_NAMES = ("{}", "{}_p", "{}_t", "original_{}", "original_{}_p", "original_{}_t", "grad_{}")


def _renamed(entry: Entry, old: str, new: str) -> Iterator[TextEdit]:
    """The edits of keys and formulas that use a name."""
    names = {form.format(old): form.format(new) for form in _DERIVED_NAMES}
    for formula in entry.formulas:
        for name in formula.names:
            if name.text == old:
                yield TextEdit(formula.name_span(name), new)
        if formula.text is None or not formula.is_expression:
            continue
        for word in formula.parsed.words:
            if word.role == "variable" and word.text in names:
                edit = formula_edit(formula, word.start, word.end, names[word.text])
                if edit is not None:
                    yield edit


def formula_edit(formula: DerivativeFormula, start: int, end: int, text: str) -> TextEdit | None:
    """The edit that makes ``formula[start:end]`` another text; None where YAML would read more or less than that.

    Args:
        formula: the key and the formula.
        start: the first character to replace, counted in the formula's text.
        end: the one after the last.
        text: the text that is wanted there, which is escaped as the YAML scalar wants it.
    """
    value = formula.value
    if not isinstance(value, Scalar):
        return None
    written = rewrite(value, start, end, text, in_flow=_in_flow(formula, value))
    return TextEdit(written[0].shift(formula.entry.start), written[1]) if written is not None else None


def formula_fix(formula: DerivativeFormula, title: str, changes: Iterable[Change], *, safe: bool = False) -> Fix | None:
    """The fix that makes several changes in one formula; None where one of them cannot be written.

    Args:
        formula: the key and the formula.
        title: what the fix does, as an imperative.
        changes: the changes, which do not overlap.
        safe: whether it keeps the meaning that the author certainly had.
    """
    return formulas_fix(title, [(formula, change) for change in changes], safe=safe)


def quoted_formula_fix(formula: DerivativeFormula, title: str, change: Change, *, safe: bool = False) -> Fix | None:
    """The fix that also puts a formula in quotes: a plain scalar cannot hold the ": " of "a ? b : c"."""
    node, (start, end, written) = formula.value, change
    if not isinstance(node, Scalar) or not node.exact or formula.text != node.value:
        return None
    text = node.value[:start] + written + node.value[end:]
    if quote_scalar(formula.entry, node, title) is None or not text.isprintable():
        return None
    return Fix(title, (TextEdit(formula.entry.place(node), quote_text(text)),), safe=safe)


def formulas_fix(title: str, changes: Iterable[tuple[DerivativeFormula, Change]], *, safe: bool = False) -> Fix | None:
    """The fix that makes changes in several formulas, all or none; None where one of them cannot be written.

    Args:
        title: what the fix does, as an imperative.
        changes: the formulas and their changes, which do not overlap.
        safe: whether it keeps the meaning that the author certainly had.
    """
    edits = [formula_edit(formula, *change) for formula, change in changes]
    written = tuple(edit for edit in edits if edit is not None)
    return Fix(title, written, safe=safe) if written and len(written) == len(edits) else None


def removal_fix(formula: DerivativeFormula, title: str, *, safe: bool = False) -> Fix | None:
    """The fix that removes a line with its formula; None where it shares its lines of the file with something else."""
    mapping = formula.body.mapping
    span = removal(mapping, Pair(formula.key, formula.value)) if mapping is not None else None
    return Fix(title, (TextEdit(span.shift(formula.entry.start), ""),), safe=safe) if span is not None else None


def _in_flow(formula: DerivativeFormula, value: Scalar) -> bool:
    around = (formula.entry.mapping, formula.entry.dispatch, formula.body.mapping)
    return any(isinstance(node, Mapping) and node.flow and node.start <= value.start < node.end for node in around)
