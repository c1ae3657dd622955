"""Completion inside formulas: variables, functions, members, namespaces; and signature help of calls."""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary

from msgspec import Struct

from derivlint.cpp.cpp_type import TENSOR, cpp_type
from derivlint.cpp.declarations.declaration import Function
from derivlint.cpp.library import ATEN, HELPERS, Library, library_of
from derivlint.cpp.lookup import resolve_namespace
from derivlint.cpp.naming import NAMESPACES
from derivlint.cpp.operator_signatures import without_symint
from derivlint.formula import Member, Name
from derivlint.lsp.analysis import DocumentAnalysis
from derivlint.lsp.features.completions.context import MAX_PROPOSALS, Completion, CompletionContext, completion_context
from derivlint.lsp.features.completions.draft import Draft, Fragment, OpenCall, draft_of, fragment, open_call, type_of
from derivlint.lsp.features.describe import signatures_text
from derivlint.lsp.features.facts import VariableKind, accessed, functions_named, methods_of, variable
from derivlint.model import Role
from derivlint.model.generated.forward import PRIMAL, TANGENT
from derivlint.model.generated.gradients import GRADS
from derivlint.model.keys import BACKWARD_WORDS, FORWARD_WORDS
from derivlint.model.scope import is_internal, visible_names
from derivlint.schema import NativeFunctions
from derivlint.source import Span

#: A formula that is valid under all keys: a placeholder that lets the draft be analyzed.
_ANY = "grad"
_FUNCTION = "Function"
#: The groups of proposals, in order of display.
_OWN, _RELATED, _HELPER, _OPERATOR, _OTHER = "0", "1", "2", "3", "4"


def formula_completions(analysis: DocumentAnalysis, context: CompletionContext) -> Iterable[Completion]:
    """Return the proposals at the end of a formula."""
    written = context.before
    part = fragment(written)
    if part is None:
        return ()
    span = Span(context.offset - len(part.prefix), context.offset)
    if part.joint == "::":
        return _of_namespace(analysis, context, part, span)
    if part.joint:
        return _members(analysis, context, part, span)
    return _bare(analysis, context, part, span, is_start=not written[: len(written) - len(part.prefix)].strip())


# ---- bare names


def _bare(
    analysis: DocumentAnalysis, context: CompletionContext, part: Fragment, span: Span, *, is_start: bool
) -> list[Completion]:
    draft = draft_of(analysis, context, _ANY)
    if draft is None:
        return []
    items = [*_variables(draft, part.prefix, span), *_later(draft, part.prefix, span)]
    if is_start:
        items += _keywords(draft, part.prefix, span)
    items += _functions(draft, part.prefix, span)
    for name in (*NAMESPACES, "true", "false"):
        if name.startswith(part.prefix):
            is_namespace = name in NAMESPACES
            kind = "Module" if is_namespace else "Keyword"
            items.append(Completion(name, kind, name, span, "namespace" if is_namespace else "", _OTHER))
    if part.prefix:
        for name in draft.library.visible_variables(draft.scope.levels):
            if name.startswith(part.prefix):
                items.append(Completion(name, "Constant", name, span, "", _OTHER))
    return items


def _variables(draft: Draft, prefix: str, span: Span) -> Iterable[Completion]:
    types = draft.facts.variables
    for rank, name in enumerate(dict.fromkeys(visible_names(draft.written))):
        if is_internal(name) or prefix not in name:
            continue
        described = variable(draft.written, name)
        about = described.about.replace("`", "") if described is not None else ""
        kind = "Variable" if described is None or described.kind is not VariableKind.ARGUMENT else "Field"
        detail = str(types.get(name, about))
        sort = f"{_OWN}{rank:03}"
        if name == GRADS:
            outputs = _n_gradients(draft)
            for index in range(outputs if outputs > 1 else 0):
                label = f"{GRADS}[{index}]"
                yield Completion(label, kind, label, span, f"gradient of differentiable output {index}", sort)
        yield Completion(name, kind, name, span, detail, sort, about)


def _later(draft: Draft, prefix: str, span: Span) -> Iterable[Completion]:
    """Yield primals and tangents of arguments that have no backward formula yet."""
    function = draft.entry.function
    if function is None or draft.written.role is not Role.FORWARD:
        return
    visible = visible_names(draft.written)
    for binding in function.arguments:
        if not binding.is_tensor_like or binding.is_tensor_list:
            continue
        for suffix in (PRIMAL, TANGENT):
            name = binding.name + suffix
            if prefix in name and name not in visible:
                about = f"once {binding.name} has a backward formula"
                yield Completion(name, "Variable", name, span, about, f"{_RELATED}{name}")


def _n_gradients(draft: Draft) -> int:
    """Return the number of gradients in ``grads``."""
    info, function = draft.written.body.info, draft.entry.function
    if info is None or function is None:
        return 0
    flags = info.output_differentiability
    tensors = sum(output.type.is_tensor_like for output in function.outputs)
    return sum(flags) if flags is not None else tensors


def _keywords(draft: Draft, prefix: str, span: Span) -> Iterable[Completion]:
    words = FORWARD_WORDS if draft.written.role is Role.FORWARD else BACKWARD_WORDS
    for word, about in words.items():
        if word.startswith(prefix):
            yield Completion(word, "Keyword", word, span, about, f"{_OWN}9")


def _functions(draft: Draft, prefix: str, span: Span) -> Iterable[Completion]:
    """Yield helpers, and operators once a part of their name is typed."""
    library = draft.library
    base = draft.entry.function.canonical.name.base if draft.entry.function is not None else ""
    helpers = [name for name in library.function_names(HELPERS) if prefix in name]
    ranked = []
    for name in helpers:
        related = bool(base) and name.startswith(base)
        rank = _RELATED if related else _HELPER
        ranked.append((f"{rank}{0 if name.startswith(prefix) else 1}", name, HELPERS))
    if prefix:
        ranked += [(_OPERATOR, name, ATEN) for name in library.function_names(ATEN) if name.startswith(prefix)]
    ranked.sort()
    for sort, name, namespace in ranked[: MAX_PROPOSALS + 1]:
        yield _function(draft, namespace, name, _FUNCTION, span, sort)


def _function(draft: Draft, owner: str, name: str, kind: str, span: Span, sort: str) -> Completion:
    """Return the proposal for a function or a method; for operators, the documentation is computed on request."""
    data = f"{kind}|{owner}|{name}"
    if owner in (ATEN, TENSOR.text):
        schemas = _schemas(draft.facts.model.natives).get(without_symint(name), ())
        if schemas:
            more = f" (+{len(schemas) - 1})" if len(schemas) > 1 else ""
            return Completion(name, kind, name, span, schemas[0] + more, f"{sort}{name}", data=data)
    functions = _overloads(draft.library, kind, owner, name)
    detail = functions[0].signature if functions else ""
    if len(functions) > 1:
        detail += f" (+{len(functions) - 1})"
    deprecated = bool(functions) and all(function.deprecated is not None for function in functions)
    return Completion(name, kind, name, span, detail, f"{sort}{name}", deprecated=deprecated, data=data)


def resolve(analysis: DocumentAnalysis, data: str) -> str:
    """Return the documentation of a proposal: the declarations of all overloads, as Markdown."""
    kind, _, rest = data.partition("|")
    owner, _, name = rest.rpartition("|")
    return signatures_text(_overloads(library_of(analysis.natives), kind, owner, name)) or ""


def _overloads(library: Library, kind: str, owner: str, name: str) -> tuple[Function, ...]:
    if kind == _FUNCTION:
        return library.functions(owner, name).functions
    methods = library.methods(cpp_type(owner), name)
    return methods.functions if methods is not None else ()


#: The schemas of operators by name, for each set of native functions.
_SCHEMAS: WeakKeyDictionary[NativeFunctions, dict[str, list[str]]] = WeakKeyDictionary()


def _schemas(natives: NativeFunctions) -> dict[str, list[str]]:
    schemas = _SCHEMAS.get(natives)
    if schemas is None:
        schemas = _SCHEMAS[natives] = {}
        for native in natives.written:
            schemas.setdefault(native.name.name_without_overload, []).append(native.func_text)
    return schemas


# ---- qualified names and members


def _of_namespace(
    analysis: DocumentAnalysis, context: CompletionContext, part: Fragment, span: Span
) -> list[Completion]:
    draft = draft_of(analysis, context, _ANY)
    if draft is None:
        return []
    library = draft.library
    owner = resolve_namespace(library, draft.scope, part.owner, leading=False) if part.owner else ""
    if owner is None:
        return []
    items = []
    for place in (owner, *library.included.get(owner, ())):
        own = _OWN if place == owner else _OTHER
        names = [name for name in library.function_names(place) if name.startswith(part.prefix)]
        names.sort(key=lambda name: (name.startswith("_"), name))
        for name in names[: MAX_PROPOSALS + 1]:
            sort = _OTHER if name.startswith("_") else own
            items.append(_function(draft, place, name, _FUNCTION, span, sort))
        for name, type in library.declarations.variables.get(place, {}).items():
            if name.startswith(part.prefix):
                items.append(Completion(name, "Constant", name, span, type.text, f"{own}{name}"))
        inner = f"{place}::" if place else ""
        for path in library.names.namespaces:
            name = path.removeprefix(inner)
            if path.startswith(inner) and name != path and "::" not in name and name.startswith(part.prefix):
                items.append(Completion(name, "Module", name, span, "namespace", f"{_OTHER}{name}"))
    unique: dict[str, Completion] = {}
    for item in items:
        unique.setdefault(item.label, item)
    return list(unique.values())


def _members(
    analysis: DocumentAnalysis, context: CompletionContext, part: Fragment, span: Span
) -> Iterable[Completion]:
    owner = type_of(analysis, context, part.owner) if part.owner else None
    draft = draft_of(analysis, context, _ANY)
    if owner is None or draft is None:
        return
    library = draft.library
    accessed_type = accessed(owner, arrow=part.joint == "->")
    members = library.members(accessed_type)
    for name, type in (members.fields if members is not None else {}).items():
        if name.startswith(part.prefix):
            yield Completion(name, "Property", name, span, type.text, f"{_OWN}{name}")
    names = [name for name in library.method_names(accessed_type) if name.startswith(part.prefix)]
    names.sort(key=lambda name: (name.startswith("_"), name))
    for name in names[: MAX_PROPOSALS + 1]:
        sort = _OTHER if name.startswith("_") else _HELPER
        yield _function(draft, accessed_type.text, name, "Method", span, sort)


class CallSignature(Struct, frozen=True):
    """A declaration, as signature help shows it.

    Attributes:
        label: its text.
        parameters: the ranges of its parameters in the text.
        documentation: the documentation, as Markdown.
    """

    label: str
    parameters: tuple[tuple[int, int], ...]
    documentation: str = ""


class SignatureHelp(Struct, frozen=True):
    """The candidate declarations of a call.

    Attributes:
        signatures: the declarations.
        active: the index of the first one with a parameter for the argument.
        parameter: the index of the argument being written.
    """

    signatures: tuple[CallSignature, ...]
    active: int
    parameter: int


def signature_help(analysis: DocumentAnalysis, text: str, offset: int) -> SignatureHelp | None:
    """Return the declarations of the call whose arguments are being written, or None outside of calls.

    Args:
        analysis: the last text that could be read.
        text: the current text.
        offset: the cursor's offset in it.
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
