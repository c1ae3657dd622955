"""Completion: operators, keys, dispatch keys, names in formulas, rules in comments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from weakref import WeakKeyDictionary

from derivlint.lsp.analysis import DocumentAnalysis
from derivlint.lsp.features.completions.context import (
    MAX_PROPOSALS,
    Completion,
    CompletionContext,
    Completions,
    completion_context,
    rule_being_written,
)
from derivlint.lsp.features.completions.draft import function_being_written
from derivlint.lsp.features.completions.formula_completion import formula_completions
from derivlint.model.keys import DEFAULT, DISPATCH, NAME, OUTPUT_DIFFERENTIABILITY
from derivlint.schema import NativeFunction, NativeFunctions
from derivlint.source import Span


def completions(analysis: DocumentAnalysis, text: str, offset: int) -> Completions:
    """Return the proposals for an offset.

    Args:
        analysis: the last text that could be read, for the operators and declarations.
        text: the current text.
        offset: the cursor's offset in it.
    """
    rule = rule_being_written(text, offset)
    if rule is not None:
        return _limited(_rules(text, rule))
    context = completion_context(analysis, text, offset)
    if context is None:
        return Completions(())
    pair = context.pair
    if pair is None:
        return _limited(_keys(analysis, context))
    if pair.key == NAME and not pair.path:
        return _limited(_schemas(analysis, context))
    if pair.key == OUTPUT_DIFFERENTIABILITY and not pair.path:
        return _limited(_flags(analysis, context))
    if not pair.is_formula:
        return Completions(())
    return _limited(formula_completions(analysis, context))


def _limited(proposals: Iterable[Completion]) -> Completions:
    items = sorted(proposals, key=lambda item: (item.sort, item.label))
    return Completions(tuple(items[:MAX_PROPOSALS]), len(items) <= MAX_PROPOSALS)


# ---- comments


def _rules(text: str, span: Span) -> Iterable[Completion]:
    from derivlint.rules import NAMES, load_rule

    prefix = text[span.start : span.end]
    for name in NAMES:
        if prefix in name:
            rule = load_rule(name)
            rank = "0" if name.startswith(prefix) else "1"
            yield Completion(name, "EnumMember", name, span, rule.summary, f"{rank}{name}")


# ---- schemas


def _schemas(analysis: DocumentAnalysis, context: CompletionContext) -> Iterable[Completion]:
    """Yield operators whose name contains the typed text; those that need a derivative and lack one come first."""
    pair = context.pair
    assert pair is not None
    raw = context.text[pair.value.start : context.offset]
    prefix = raw.lstrip()
    if "\n" in prefix:
        # a proposal may replace text of one line only
        return
    if prefix[:1] in ("'", '"'):
        prefix = prefix[1:]
    end = context.text.find("\n", context.offset)
    rest = context.text[context.offset : len(context.text) if end < 0 else end]
    span = Span(context.offset - len(prefix), context.offset + len(rest.rstrip("'\"\r \t")))
    with_entry = {entry.name.value for entry in analysis.model.all_entries if entry.name is not None}
    name = prefix.partition("(")[0]
    buckets: list[list[_OperatorName]] = [[] for _ in range(8)]
    for operator in _operators(analysis.natives):
        if name in operator.name:
            starts = operator.text.startswith(prefix)
            buckets[4 * (not starts) + 2 * operator.writes + (operator.text in with_entry)].append(operator)
    ranked = [operator for bucket in buckets for operator in bucket]
    for rank, operator in enumerate(ranked[: MAX_PROPOSALS + 1]):
        detail = operator.text.removeprefix(operator.name)
        yield Completion(operator.name, "Function", operator.text, span, detail, f"{rank:04}")


class _OperatorName(NamedTuple):
    """An operator that completion offers as the name of an entry.

    Attributes:
        text: its schema.
        name: its name with its overload.
        writes: whether it is an out variant, which writes to an argument although its name is not in-place.
    """

    text: str
    name: str
    writes: bool


#: The operators of each set of native functions.
_OPERATORS: WeakKeyDictionary[NativeFunctions, tuple[_OperatorName, ...]] = WeakKeyDictionary()


def _operators(natives: NativeFunctions) -> tuple[_OperatorName, ...]:
    operators = _OPERATORS.get(natives)
    if operators is None:
        ordered = sorted(natives.written, key=_rank)
        operators = _OPERATORS[natives] = tuple(
            # an annotation with "!" marks a written argument; the schema need not be parsed for it
            _OperatorName(native.func_text, str(native.name), "!" in native.func_text and not native.name.inplace)
            for native in ordered
        )
    return operators


def _rank(native: NativeFunction) -> tuple[bool, bool, bool, str]:
    """Return a sort key: operators that need a derivative before composites, in-place forms and private ones."""
    private = native.func_text.startswith("_")
    return not native.is_abstract, native.name.inplace, private, str(native.name)


# ---- keys


def _keys(analysis: DocumentAnalysis, context: CompletionContext) -> Iterable[Completion]:
    prefix = context.key_before
    span = Span(context.offset - len(prefix), context.offset)
    colon = "" if context.text[context.offset :].lstrip(" \t").startswith(":") else ": "
    for rank, (key, kind, detail) in enumerate(_missing(analysis, context)):
        if key.startswith(prefix) or prefix in key:
            after = ":" if colon and not detail.startswith("=") and kind == "Module" else colon
            yield Completion(key, kind, key + after, span, detail.removeprefix("="), f"{rank:04}")


def _missing(analysis: DocumentAnalysis, context: CompletionContext) -> Iterable[tuple[str, str, str]]:
    """Yield the keys that the mapping may have and lacks: key, kind, detail."""
    path = context.path
    line = context.text.count("\n", 0, context.offset)
    present = {
        name.strip()
        for pair in context.pairs
        if pair.path == path and context.text.count("\n", 0, pair.start) != line
        for name in pair.key.split(",")
    }
    if path == (DISPATCH,):
        for key in dict.fromkeys((DEFAULT, *analysis.natives.autograd_keys)):
            if key not in present:
                yield key, "Module", "dispatch key"
        return
    if not path and NAME not in present:
        yield NAME, "Keyword", "=the operator's schema"
        if not present:
            return
    function = function_being_written(analysis, context)
    has_dispatch = DISPATCH in present and not path
    if function is not None and not has_dispatch:
        for binding in function.arguments:
            if binding.is_tensor_like and binding.name not in present:
                yield binding.name, "Field", f"gradient of {binding.argument}"
        for output in function.outputs:
            if output.has_tangent and output.key_name not in present and output.name not in present:
                yield output.key_name, "Property", f"tangent of output {output.index}, {output.type}"
    if path:
        return
    formulas = present - {NAME, OUTPUT_DIFFERENTIABILITY}
    if OUTPUT_DIFFERENTIABILITY not in present:
        yield OUTPUT_DIFFERENTIABILITY, "Keyword", "=which outputs are differentiable"
    if not formulas:
        yield DISPATCH, "Module", "formulas for each dispatch key"


def _flags(analysis: DocumentAnalysis, context: CompletionContext) -> Iterable[Completion]:
    """Yield lists of booleans for the outputs: only the first differentiable, all, or each alone."""
    function = function_being_written(analysis, context)
    pair = context.pair
    if function is None or pair is None or not function.outputs:
        return
    prefix = context.text[pair.value.start : context.offset].lstrip()
    span = Span(context.offset - len(prefix), context.offset)
    if "\n" in prefix:
        return
    count = len(function.outputs)
    lists = [[True] * count, [False] * count, *([i == chosen for i in range(count)] for chosen in range(count))]
    texts = dict.fromkeys(f"[{', '.join(map(str, flags))}]" for flags in lists)
    for rank, text in enumerate(texts):
        names = ", ".join(output.name for output in function.outputs)
        yield Completion(text, "Value", text, span, names, f"{rank:02}")
