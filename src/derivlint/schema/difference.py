"""Differences between the schema of an entry and the native function that is most probably meant.

PyTorch compares schemas as text, so every difference counts, even a blank.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

from msgspec import Struct

from derivlint.schema.native_function import NativeFunction
from derivlint.schema.syntax.arguments import Argument, Return, annotated
from derivlint.schema.syntax.function_schema import FunctionSchema
from derivlint.source import Span


class DifferenceKind(Enum):
    """The kinds of differences."""

    OPERATOR = "operator"
    OVERLOAD = "overload"
    ARGUMENT_MISSING = "argument missing"
    ARGUMENT_EXTRA = "argument extra"
    ARGUMENT_NAME = "argument name"
    ARGUMENT_TYPE = "argument type"
    ARGUMENT_ANNOTATION = "argument annotation"
    ARGUMENT_DEFAULT = "argument default"
    ARGUMENT_ORDER = "argument order"
    KEYWORD_ONLY = "keyword only"
    RETURN_COUNT = "return count"
    RETURN_TYPE = "return type"
    RETURN_ANNOTATION = "return annotation"
    RETURN_NAME = "return name"
    FORMATTING = "formatting"


class SchemaDifference(Struct, frozen=True):
    """One difference between a written schema and the declared one.

    Attributes:
        kind: its kind.
        span: the differing part of the written schema; for a missing part, the text that it belongs before.
        written: the part as written, None if it is missing.
        expected: the part as declared, None for a superfluous part.
        name: the name of the argument or 1-based number of the return that differs, if it is one.
        before: the argument that follows a missing one, None for the last.
        context: the whole declared argument or return, if the difference is in one.
        counts: the numbers of written and declared returns, if they differ.
    """

    kind: DifferenceKind
    span: Span
    written: str | None
    expected: str | None
    name: str | None = None
    before: str | None = None
    context: str | None = None
    counts: tuple[int, int] | None = None


def differences(own: FunctionSchema, declared: FunctionSchema) -> tuple[SchemaDifference, ...]:
    """Compare a parsed schema with the declared one; differences are in source order."""
    if own.canonical == declared.canonical:
        return () if own.text == declared.canonical else (_formatting(own.text, declared.canonical),)
    result = [*_name(own, declared), *_arguments(own, declared), *_returns(own, declared)]
    return tuple(result)


def replacement(text: str, expected: str) -> tuple[Span, str]:
    """The smallest single edit that turns one text into another."""
    start = 0
    shorter = min(len(text), len(expected))
    while start < shorter and text[start] == expected[start]:
        start += 1
    end = 0
    while end < shorter - start and text[-1 - end] == expected[-1 - end]:
        end += 1
    return Span(start, len(text) - end), expected[start : len(expected) - end]


def nearest(own: FunctionSchema, candidates: Iterable[NativeFunction]) -> NativeFunction | None:
    """The candidate that a schema probably means: one with the same full name, else that with the fewest differences.

    Ties go to the overload name with the most similar spelling, then to the first.
    """
    from difflib import SequenceMatcher

    best: tuple[float, NativeFunction] | None = None
    for candidate in candidates:
        if candidate.name == own.name:
            return candidate
        alike = SequenceMatcher(None, own.name.overload, candidate.name.overload, autojunk=False).ratio()
        cost = sum(_COSTS.get(item.kind, 1) for item in differences(own, candidate.schema)) - alike / 2
        if best is None or cost < best[0]:
            best = (cost, candidate)
    return best[1] if best is not None else None


_COSTS = {DifferenceKind.ARGUMENT_MISSING: 2, DifferenceKind.ARGUMENT_EXTRA: 2}


def _formatting(text: str, expected: str) -> SchemaDifference:
    """The words on both sides of the differing blanks."""
    span, inserted = replacement(text, expected)
    start = span.start
    while start > 0 and not text[start - 1].isspace():
        start -= 1
    if start == span.start > 0 and (text[span.start : span.end] + inserted)[0].isspace():
        # a superfluous or missing blank: include the text before it
        start = span.start - 1
        while start > 0 and not text[start - 1].isspace():
            start -= 1
    end = span.end
    while end < len(text) and not text[end].isspace():
        end += 1
    written = text[start:end]
    return SchemaDifference(
        DifferenceKind.FORMATTING,
        Span(start, end),
        written,
        text[start : span.start] + inserted + text[span.end : end],
    )


def _name(own: FunctionSchema, declared: FunctionSchema) -> Iterator[SchemaDifference]:
    place = own.name_span or Span(0, 0)
    written, expected = own.name.name_without_overload, declared.name.name_without_overload
    end = place.start + len(written)
    if written != expected:
        yield SchemaDifference(DifferenceKind.OPERATOR, Span(place.start, end), written, expected)
    if own.name.overload != declared.name.overload:
        span = Span(end + 1, place.end) if own.name.overload else place
        yield SchemaDifference(DifferenceKind.OVERLOAD, span, own.name.overload or None, declared.name.overload or None)


def _place(argument: Argument) -> Span:
    start = argument.type_span or Span(0, 0)
    return start.cover(argument.default_span or argument.name_span or start)


def _arguments(own: FunctionSchema, declared: FunctionSchema) -> Iterator[SchemaDifference]:
    ours, theirs = own.arguments.flat_all, declared.arguments.flat_all
    names = [argument.name for argument in ours]
    expected_names = [argument.name for argument in theirs]
    if names != expected_names and sorted(names) == sorted(expected_names) and len(set(names)) == len(names):
        moved = [i for i, name in enumerate(names) if name != expected_names[i]]
        span = _place(ours[moved[0]]).cover(_place(ours[moved[-1]]))
        yield SchemaDifference(
            DifferenceKind.ARGUMENT_ORDER,
            span,
            ", ".join(names[moved[0] : moved[-1] + 1]),
            ", ".join(expected_names[moved[0] : moved[-1] + 1]),
        )
        by_name = {argument.name: argument for argument in theirs}
        pairs: list[tuple[int, Argument | None, Argument | None]] = [
            (i, argument, by_name[argument.name]) for i, argument in enumerate(ours)
        ]
    else:
        pairs = list(_aligned(ours, theirs))
    keyword = {id(argument) for argument in own.arguments.flat_positional}
    expected_keyword = {id(argument) for argument in declared.arguments.flat_positional}
    star_reported = False
    for index, argument, expected in pairs:
        if argument is None:
            assert expected is not None
            yield _missing(own, index, expected, id(expected) not in expected_keyword)
        elif expected is None:
            yield SchemaDifference(
                DifferenceKind.ARGUMENT_EXTRA, _place(argument), str(argument), None, name=argument.name
            )
        else:
            yield from _argument(argument, expected)
            is_keyword, should_be = id(argument) not in keyword, id(expected) not in expected_keyword
            if is_keyword != should_be and not star_reported:
                # one "*" applies to all arguments after it
                star_reported = True
                words = ("positional", "keyword-only")
                yield SchemaDifference(
                    DifferenceKind.KEYWORD_ONLY,
                    _place(argument),
                    words[is_keyword],
                    words[should_be],
                    name=argument.name,
                    context=str(expected),
                )


def _aligned(
    ours: tuple[Argument, ...], theirs: tuple[Argument, ...]
) -> Iterator[tuple[int, Argument | None, Argument | None]]:
    """Match arguments by name, then by position or type; yields pairs with indices in the written schema."""
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, [item.name for item in ours], [item.name for item in theirs], autojunk=False)
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        if tag == "equal" or i_end - i == j_end - j:
            yield from ((i + k, ours[i + k], theirs[j + k]) for k in range(i_end - i))
            continue
        while i < i_end and j < j_end:
            # one side has additional arguments: find them by their types
            if str(ours[i].type) == str(theirs[j].type):
                yield i, ours[i], theirs[j]
                i, j = i + 1, j + 1
            elif i_end - i > j_end - j:
                yield i, ours[i], None
                i += 1
            elif i_end - i < j_end - j:
                yield i, None, theirs[j]
                j += 1
            else:
                yield i, ours[i], theirs[j]
                i, j = i + 1, j + 1
        yield from ((k, ours[k], None) for k in range(i, i_end))
        yield from ((i_end, None, theirs[k]) for k in range(j, j_end))


def _missing(own: FunctionSchema, index: int, argument: Argument, is_keyword: bool) -> SchemaDifference:
    ours = own.arguments.flat_all
    expected = str(argument)
    if is_keyword and len(ours) == len(own.arguments.flat_positional):
        expected = f"*, {expected}"
    if index < len(ours):
        return SchemaDifference(
            DifferenceKind.ARGUMENT_MISSING,
            _place(ours[index]),
            None,
            expected,
            name=argument.name,
            before=str(ours[index]),
            context=str(argument),
        )
    name_end = own.name_span.end if own.name_span is not None else 0
    closing = own.text.index(")", _place(ours[-1]).end if ours else name_end)
    # without arguments, include both parentheses
    start = closing if ours else own.text.index("(", name_end)
    return SchemaDifference(
        DifferenceKind.ARGUMENT_MISSING,
        Span(start, closing + 1),
        None,
        expected,
        name=argument.name,
        context=str(argument),
    )


def _argument(own: Argument, counterpart: Argument) -> Iterator[SchemaDifference]:
    whole = _place(own)
    context = str(counterpart)
    if own.type != counterpart.type or own.annotation != counterpart.annotation:
        kind = DifferenceKind.ARGUMENT_TYPE if own.type != counterpart.type else DifferenceKind.ARGUMENT_ANNOTATION
        written, expected = annotated(own.type, own.annotation), annotated(counterpart.type, counterpart.annotation)
        yield SchemaDifference(kind, own.type_span or whole, written, expected, name=counterpart.name, context=context)
    if own.name != counterpart.name:
        yield SchemaDifference(
            DifferenceKind.ARGUMENT_NAME,
            own.name_span or whole,
            own.name,
            counterpart.name,
            name=own.name,
            context=context,
        )
    if own.default != counterpart.default:
        yield SchemaDifference(
            DifferenceKind.ARGUMENT_DEFAULT,
            own.default_span or own.name_span or whole,
            own.default,
            counterpart.default,
            name=counterpart.name,
            context=context,
        )


def _returns_text(items: tuple[Return, ...]) -> str:
    text = ", ".join(map(str, items))
    return text if len(items) == 1 else f"({text})"


def _returns(own: FunctionSchema, declared: FunctionSchema) -> Iterator[SchemaDifference]:
    ours, theirs = own.returns, declared.returns
    if len(ours) != len(theirs):
        yield SchemaDifference(
            DifferenceKind.RETURN_COUNT,
            _returns_place(own),
            _returns_text(ours),
            _returns_text(theirs),
            counts=(len(ours), len(theirs)),
        )
        return
    for number, (item, target) in enumerate(zip(ours, theirs, strict=True), 1):
        place = item.type_span or Span(0, 0)
        if item.type != target.type or item.annotation != target.annotation:
            kind = DifferenceKind.RETURN_TYPE if item.type != target.type else DifferenceKind.RETURN_ANNOTATION
            written, expected = (
                annotated(item.type, item.annotation),
                annotated(target.type, target.annotation),
            )
            yield SchemaDifference(kind, place, written, expected, name=str(number), context=str(target))
        if item.name != target.name:
            yield SchemaDifference(
                DifferenceKind.RETURN_NAME,
                item.name_span or place,
                item.name,
                target.name,
                name=str(number),
                context=str(target),
            )


def _returns_place(own: FunctionSchema) -> Span:
    """The span of the returns, after the arrow."""
    text = own.text
    end = len(text.rstrip())
    if not own.returns:
        return Span(text.rindex("("), end)
    first = own.returns[0].type_span or Span(0, 0)
    start = first.start
    while start > 0 and text[start - 1] != ">":
        start -= 1
    return Span(start + len(text[start:end]) - len(text[start:end].lstrip()), end)
