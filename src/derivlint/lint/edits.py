"""Fixes that several rules share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from derivlint.lint.diagnostic import Fix, TextEdit
from derivlint.model import DerivativeFormula, Entry
from derivlint.schema.difference import replacement
from derivlint.yaml_reader import Mapping, Pair, Scalar
from derivlint.yaml_reader.rewrite import removal, rewrite

#: A replacement in a formula: start, end, and the new text.
Change = tuple[int, int, str]


def edited(text: str, edits: Iterable[TextEdit]) -> str:
    """Apply disjoint edits to the text of a file."""
    for edit in sorted(edits, key=lambda edit: (edit.span, edit.text), reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


def quote_text(text: str) -> str:
    """Format a one-line text as a quoted YAML scalar."""
    if '"' not in text and "\\" not in text:
        return f'"{text}"'
    return "'" + text.replace("'", "''") + "'"


def quote_scalar(entry: Entry, node: Scalar, title: str, *, safe: bool = True) -> Fix | None:
    """Make a fix that quotes a scalar of an entry; None if it is already quoted or empty."""
    if node.style != "plain" or not node.value or node.tag is not None or "\n" in node.value:
        return None
    return Fix(title, (TextEdit(entry.place(node), quote_text(node.value)),), safe=safe)


def schema_fix(entry: Entry, expected: str, *, safe: bool = False, renamed: dict[str, str] | None = None) -> Fix | None:
    """Make a fix that replaces an entry's schema; None if one edit does not suffice.

    Args:
        entry: the entry.
        expected: the new schema.
        safe: whether the schema is certainly the intended one.
        renamed: the new names of arguments and returns, for renaming their uses.
    """
    name = entry.name
    if name is None or not name.exact or (entry.mapping is not None and entry.mapping.flow):
        return None
    span, text = replacement(name.value, expected)
    if name.style not in ("plain", "single", "double") or (name.style != "plain" and set(text) & set("\"'\\")):
        return None
    edit = TextEdit(entry.place_in(name, span.start, span.end), text)
    uses = [use for old, new in (renamed or {}).items() for use in _renamed(entry, old, new)]
    return Fix("write the schema as PyTorch declares it", (edit, *uses), safe=safe)


#: The variables derived from an argument or output.
_DERIVED_NAMES = ("{}", "{}_p", "{}_t", "original_{}", "original_{}_p", "original_{}_t", "grad_{}")


def _renamed(entry: Entry, old: str, new: str) -> Iterator[TextEdit]:
    """The edits that rename a name in keys and formulas."""
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
    """Make an edit that replaces ``formula[start:end]``; None if the YAML scalar cannot express it.

    Args:
        formula: the key and the formula.
        start: the start offset in the formula's text.
        end: the end offset.
        text: the new text, before escaping.
    """
    value = formula.value
    if not isinstance(value, Scalar):
        return None
    around = (formula.entry.mapping, formula.entry.dispatch, formula.body.mapping)
    in_flow = any(isinstance(node, Mapping) and node.flow and node.start <= value.start < node.end for node in around)
    written = rewrite(value, start, end, text, in_flow=in_flow)
    return TextEdit(written[0].shift(formula.entry.start), written[1]) if written is not None else None


def formula_fix(formula: DerivativeFormula, title: str, changes: Iterable[Change], *, safe: bool = False) -> Fix | None:
    """Make a fix with changes in one formula, see :func:`formulas_fix`."""
    return formulas_fix(title, [(formula, change) for change in changes], safe=safe)


def quoted_formula_fix(formula: DerivativeFormula, title: str, change: Change, *, safe: bool = False) -> Fix | None:
    """Make a fix that also quotes the formula: a plain scalar cannot contain the ": " of "a ? b : c"."""
    node, (start, end, written) = formula.value, change
    if not isinstance(node, Scalar) or not node.exact or formula.text != node.value:
        return None
    text = node.value[:start] + written + node.value[end:]
    if quote_scalar(formula.entry, node, title) is None or not text.isprintable():
        return None
    return Fix(title, (TextEdit(formula.entry.place(node), quote_text(text)),), safe=safe)


def formulas_fix(title: str, changes: Iterable[tuple[DerivativeFormula, Change]], *, safe: bool = False) -> Fix | None:
    """Make a fix with changes in several formulas; None if one of them cannot be written.

    Args:
        title: the effect, as an imperative.
        changes: the formulas and their changes, which do not overlap.
        safe: whether the fix certainly has the meaning that the author intended.
    """
    edits = [formula_edit(formula, *change) for formula, change in changes]
    written = tuple(edit for edit in edits if edit is not None)
    return Fix(title, written, safe=safe) if written and len(written) == len(edits) else None


def removal_fix(formula: DerivativeFormula, title: str, *, safe: bool = False) -> Fix | None:
    """Make a fix that removes the lines of a formula; None if they contain anything else."""
    mapping = formula.body.mapping
    span = removal(mapping, Pair(formula.key, formula.value)) if mapping is not None else None
    return Fix(title, (TextEdit(span.shift(formula.entry.start), ""),), safe=safe) if span is not None else None
