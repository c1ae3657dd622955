"""Requests about a position or a file: a table from methods of the protocol to features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lsprotocol import types
from msgspec import Struct

from derivlint.lsp.features import (
    describe,
    formatting,
    hover,
    navigation,
    outline,
    rename,
    tokens,
)
from derivlint.lsp.features.completions import completion, formula_completion
from derivlint.lsp.position_mapper import PositionMapper
from derivlint.source import Span

#: The editors' command that shows generated code; its arguments are the file and the operator.
SHOW_GENERATED_CODE = "derivlint.showGeneratedCode"
#: The server's command that returns the code; the arguments are the same.
GENERATED_CODE = "derivlint.generatedCode"


class RefusedError(Exception):
    """A refused request, with the reason for the user."""


def _markdown(text: str) -> types.MarkupContent:
    return types.MarkupContent(types.MarkupKind.Markdown, text)


def _hover(mapper: PositionMapper, params: types.HoverParams) -> types.Hover | None:
    text = hover.hover(mapper.analysis, mapper.offset(params.position))
    return None if text is None else types.Hover(_markdown(text.markdown), mapper.range(text.span))


def _completion(mapper: PositionMapper, params: types.CompletionParams) -> types.CompletionList:
    completions = completion.completions(mapper.analysis, mapper.text, mapper.shown_offset(params.position))
    items = [
        types.CompletionItem(
            label=item.label,
            kind=types.CompletionItemKind[item.kind],
            detail=item.detail or None,
            documentation=_markdown(item.documentation) if item.documentation else None,
            tags=[types.CompletionItemTag.Deprecated] if item.deprecated else None,
            sort_text=item.sort or None,
            filter_text=item.text if item.text != item.label else None,
            text_edit=types.TextEdit(mapper.shown_range(item.span), item.text),
            insert_text_format=types.InsertTextFormat.PlainText,
            data={"uri": mapper.uri, "item": item.data} if item.data else None,
        )
        for item in completions.items
    ]
    return types.CompletionList(is_incomplete=not completions.is_complete, items=items)


def resolved_completion(mapper: PositionMapper, item: types.CompletionItem) -> types.CompletionItem:
    """Return a proposal with its documentation."""
    data: Any = item.data
    text = formula_completion.resolve(mapper.analysis, data["item"])
    if text:
        item.documentation = _markdown(text)
    return item


def _signature_help(mapper: PositionMapper, params: types.SignatureHelpParams) -> types.SignatureHelp | None:
    help = formula_completion.signature_help(mapper.analysis, mapper.text, mapper.shown_offset(params.position))
    if help is None:
        return None
    signatures = [
        types.SignatureInformation(
            label=item.label,
            documentation=_markdown(item.documentation) if item.documentation else None,
            # as texts, because ranges would be in units of the position encoding
            parameters=[types.ParameterInformation(item.label[start:end]) for start, end in item.parameters],
        )
        for item in help.signatures
    ]
    return types.SignatureHelp(signatures, help.active, help.parameter)


def _definition(mapper: PositionMapper, params: types.DefinitionParams) -> list[types.Location]:
    return [mapper.location(place) for place in navigation.definition(mapper.analysis, mapper.offset(params.position))]


def _references(mapper: PositionMapper, params: types.ReferenceParams) -> list[types.Location]:
    places = navigation.references(
        mapper.analysis, mapper.offset(params.position), include_declaration=params.context.include_declaration
    )
    return [mapper.location(place) for place in places]


def _highlights(mapper: PositionMapper, params: types.DocumentHighlightParams) -> list[types.DocumentHighlight]:
    spans = navigation.highlights(mapper.analysis, mapper.offset(params.position))
    return [types.DocumentHighlight(mapper.range(span)) for span in spans]


def _symbols(mapper: PositionMapper, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol] | list[Any]:
    def convert(symbol: outline.Symbol) -> types.DocumentSymbol:
        return types.DocumentSymbol(
            name=symbol.name,
            kind=types.SymbolKind[symbol.kind],
            detail=symbol.detail or None,
            range=mapper.range(symbol.span),
            selection_range=mapper.range(symbol.selection),
            children=[convert(child) for child in symbol.children] or None,
        )

    def flat(symbol: outline.Symbol, container: str | None) -> list[types.SymbolInformation]:
        location = types.Location(mapper.uri, mapper.range(symbol.span))
        information = types.SymbolInformation(
            location, symbol.name, types.SymbolKind[symbol.kind], container_name=container
        )
        return [information, *(item for child in symbol.children for item in flat(child, symbol.name))]

    symbols = outline.document_symbols(mapper.analysis)
    if mapper.client.nests_symbols:
        return [convert(symbol) for symbol in symbols]
    return [item for symbol in symbols for item in flat(symbol, None)]


def workspace_symbols(mapper: PositionMapper, query: str) -> list[types.WorkspaceSymbol]:
    """Return the symbols of a file that match a query."""
    return [
        types.WorkspaceSymbol(
            types.Location(mapper.uri, mapper.range(symbol.selection)),
            symbol.name,
            types.SymbolKind[symbol.kind],
            container_name=symbol.container or None,
        )
        for symbol in outline.workspace_symbols(mapper.analysis, query)
    ]


def _folds(mapper: PositionMapper, params: types.FoldingRangeParams) -> list[types.FoldingRange]:
    return [
        types.FoldingRange(
            mapper.line(fold.span.start),
            mapper.line(max(fold.span.end - 1, fold.span.start)),
            kind=types.FoldingRangeKind[fold.kind] if fold.kind else None,
        )
        for fold in outline.folds(mapper.analysis)
    ]


def _selections(mapper: PositionMapper, params: types.SelectionRangeParams) -> list[types.SelectionRange]:
    ranges = []
    for position in params.positions:
        selection: types.SelectionRange | None = None
        for span in reversed(outline.selections(mapper.analysis, mapper.offset(position))):
            selection = types.SelectionRange(mapper.range(span), selection)
        ranges.append(selection or types.SelectionRange(types.Range(position, position)))
    return ranges


def _tokens(mapper: PositionMapper, span: Span | None) -> types.SemanticTokens:
    data: list[int] = []
    line = character = 0
    for token in tokens.semantic_tokens(mapper.analysis, span):
        place = mapper.range(token.span)
        start = place.start
        if place.end.line != start.line or start == place.end or (start.line, start.character) < (line, character):
            # the text has changed there since it last parsed as YAML
            continue
        data += (
            start.line - line,
            start.character - character if start.line == line else start.character,
            place.end.character - start.character,
            tokens.TYPES.index(token.type),
            sum(1 << tokens.MODIFIERS.index(modifier) for modifier in token.modifiers),
        )
        line, character = start.line, start.character
    return types.SemanticTokens(data)


def _all_tokens(mapper: PositionMapper, params: types.SemanticTokensParams) -> types.SemanticTokens:
    return _tokens(mapper, None)


def _tokens_in_range(mapper: PositionMapper, params: types.SemanticTokensRangeParams) -> types.SemanticTokens:
    return _tokens(mapper, mapper.span(params.range))


def _inlay_hints(mapper: PositionMapper, params: types.InlayHintParams) -> list[types.InlayHint]:
    return [
        types.InlayHint(
            mapper.position(hint.offset),
            hint.label,
            kind=types.InlayHintKind[hint.kind] if hint.kind else None,
            tooltip=hint.tooltip or None,
            padding_left=hint.before,
            padding_right=not hint.before,
        )
        for hint in tokens.inlay_hints(mapper.analysis, mapper.span(params.range))
    ]


def _prepare_rename(mapper: PositionMapper, params: types.PrepareRenameParams) -> types.Range:
    span = rename.prepare_rename(mapper.analysis, mapper.offset(params.position))
    if isinstance(span, rename.Refusal):
        raise RefusedError(span.reason)
    return mapper.range(span)


def _rename(mapper: PositionMapper, params: types.RenameParams) -> types.WorkspaceEdit:
    if not mapper.is_exact:
        raise RefusedError("the file is not valid YAML; nothing can be renamed")
    edits = rename.rename(mapper.analysis, mapper.offset(params.position), params.new_name)
    if isinstance(edits, rename.Refusal):
        raise RefusedError(edits.reason)
    return mapper.edit(edits)


def _format_range(mapper: PositionMapper, params: types.DocumentRangeFormattingParams) -> list[types.TextEdit]:
    if not mapper.is_exact:
        return []
    edits = formatting.format_range(mapper.analysis, mapper.span(params.range))
    return [types.TextEdit(mapper.range(edit.span), edit.text) for edit in edits]


def _code_lenses(mapper: PositionMapper, params: types.CodeLensParams) -> list[types.CodeLens]:
    if not mapper.client.shows_code:
        return []
    operators = {entry.name_span: entry.operator for entry in mapper.analysis.model.entries}
    return [
        types.CodeLens(
            mapper.range(lens.span),
            types.Command(lens.title, SHOW_GENERATED_CODE, arguments=[mapper.uri, operators[lens.span]]),
        )
        for lens in describe.lenses(mapper.analysis)
    ]


def generated_code(mapper: PositionMapper, operator: str) -> str | None:
    """Return the C++ code generated for an operator's entry."""
    for entry in mapper.analysis.model.entries:
        if entry.operator == operator:
            return describe.generated_code(mapper.analysis, entry.name_span.start)
    return None


class Request(Struct, frozen=True):
    """A request about a file.

    Attributes:
        method: its name in the protocol.
        answer: the function that computes the response.
        options: the options in the server's capabilities.
    """

    method: str
    answer: Callable[[PositionMapper, Any], Any]
    options: object = None


_LEGEND = types.SemanticTokensLegend(list(tokens.TYPES), list(tokens.MODIFIERS))
#: The supported requests.
REQUESTS = (
    Request(types.TEXT_DOCUMENT_HOVER, _hover),
    Request(
        types.TEXT_DOCUMENT_COMPLETION,
        _completion,
        types.CompletionOptions(trigger_characters=[".", ":", ">", "(", "[", " "], resolve_provider=True),
    ),
    Request(
        types.TEXT_DOCUMENT_SIGNATURE_HELP,
        _signature_help,
        types.SignatureHelpOptions(trigger_characters=["(", ","], retrigger_characters=[")"]),
    ),
    Request(types.TEXT_DOCUMENT_DEFINITION, _definition),
    Request(types.TEXT_DOCUMENT_REFERENCES, _references),
    Request(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, _highlights),
    Request(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, _symbols),
    Request(types.TEXT_DOCUMENT_FOLDING_RANGE, _folds),
    Request(types.TEXT_DOCUMENT_SELECTION_RANGE, _selections),
    Request(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, _all_tokens, _LEGEND),
    Request(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, _tokens_in_range, _LEGEND),
    Request(types.TEXT_DOCUMENT_INLAY_HINT, _inlay_hints),
    Request(types.TEXT_DOCUMENT_PREPARE_RENAME, _prepare_rename),
    Request(types.TEXT_DOCUMENT_RENAME, _rename, types.RenameOptions(prepare_provider=True)),
    Request(types.TEXT_DOCUMENT_RANGE_FORMATTING, _format_range),
    Request(types.TEXT_DOCUMENT_CODE_LENS, _code_lenses),
)
