"""Signature help: the declarations of a called function, and the parameter that is being written."""

from __future__ import annotations

from msgspec import Struct

from derivlint.cpp.declarations.declaration import Function
from derivlint.formula import Member, Name
from derivlint.lsp.analysis import DocumentAnalysis
from derivlint.lsp.features.completions.context import completion_context
from derivlint.lsp.features.completions.draft import OpenCall, draft_of, open_call
from derivlint.lsp.features.facts import functions_named, methods_of


class CallSignature(Struct, frozen=True):
    """A declaration.

    Attributes:
        label: its text.
        parameters: the ranges of its parameters in the text.
        documentation: more of it.
    """

    label: str
    parameters: tuple[tuple[int, int], ...]
    documentation: str = ""


class SignatureHelp(Struct, frozen=True):
    """The declarations that a call may mean.

    Attributes:
        signatures: the declarations.
        active: the first that has a parameter for the argument.
        parameter: which argument is being written, from 0.
    """

    signatures: tuple[CallSignature, ...]
    active: int
    parameter: int


def signature_help(analysis: DocumentAnalysis, text: str, offset: int) -> SignatureHelp | None:
    """The declarations of the call whose arguments are being written at a place; None outside of calls.

    Args:
        analysis: the last text that could be read.
        text: the present text.
        offset: the place in it.
    """
    context = completion_context(analysis, text, offset)
    if context is None or context.pair is None or not context.pair.is_formula:
        return None
    call = open_call(context.before)
    if call is None:
        return None
    draft = draft_of(analysis, context, call.callee)
    tree = draft.written.parsed.tree if draft is not None else None
    if draft is None or tree is None:
        return None
    functions: tuple[Function, ...] = ()
    if isinstance(tree, Member):
        owner = draft_of(analysis, context, draft.written.parsed.text[tree.object.start : tree.object.end])
        functions = draft.facts.methods(tree)
        if not functions and owner is not None and owner.written.parsed.tree is not None:
            type = owner.facts.type_of(owner.written.parsed.tree)
            functions = methods_of(draft.library, type, tree.name, arrow=tree.arrow)
    elif isinstance(tree, Name):
        functions = functions_named(draft.library, draft.scope, tree)
    return _help(functions, call) if functions else None


def _help(functions: tuple[Function, ...], call: OpenCall) -> SignatureHelp:
    unique = list({function.signature: function for function in functions}.values())
    active = next((i for i, function in enumerate(unique) if _takes(function, call.argument)), 0)
    return SignatureHelp(tuple(map(_signature, unique)), active, call.argument)


def _takes(function: Function, argument: int) -> bool:
    return argument < len(function.parameters) or function.variadic or (argument == 0 and not function.parameters)


def _signature(function: Function) -> CallSignature:
    label = function.signature
    position = label.index("(", len(function.result.text) + len(function.name)) + 1
    ranges = []
    for parameter in function.parameters:
        shown = str(parameter)
        ranges.append((position, position + len(shown)))
        position += len(shown) + 2
    advice = function.deprecated
    return CallSignature(label, tuple(ranges), "" if advice is None else f"deprecated: {advice}".rstrip(": "))
