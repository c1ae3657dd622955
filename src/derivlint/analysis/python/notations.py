"""Python notations that C++ lacks, by kind of part."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from derivlint.formula.python.parts import PYTHON_STRING, Part
from derivlint.operators.common_mistakes import notations


class Notation(Struct, frozen=True):
    """A Python notation.

    Attributes:
        message: the fact about C++.
        start: the start of its sign.
        end: the end of its sign.
        parts: the operands of the templates.
        templates: the C++ equivalents, best first; possibly none.
        misread: whether it compiles with another meaning in C++.
        is_called: whether it has no type of its own: a called function's name, several arguments.
        is_guess: whether the templates are a guess.
        hint: the cure if there is no template.
    """

    message: str
    start: int
    end: int
    parts: tuple[Part, ...] = ()
    templates: tuple[str, ...] = ()
    misread: bool = False
    is_called: bool = False
    is_guess: bool = False
    hint: str | None = None


class Context(Struct, frozen=True):
    """The context of a part.

    Attributes:
        text: the formula.
        variables: the names of variables.
        flags: the variables of type ``bool?`` that the formula tests.
        n_values: the number of values of the formula.
        parents: the enclosing parts, outermost first.
    """

    text: str
    variables: Collection[str]
    flags: Collection[str] = ()
    n_values: int = 1
    parents: tuple[Part, ...] = ()

    @property
    def parent(self) -> Part | None:
        """The innermost enclosing part."""
        return self.parents[-1] if self.parents else None


def notation_of(part: Part, context: Context) -> Notation | None:
    """The notation of a part, or None if C++ has it too."""
    read = _READERS.get(part.kind)
    return read(part, context) if read is not None else None


def _templates(kind: str, name: str) -> tuple[str, ...]:
    return notations().get(kind, {}).get(name, ())


def _at(
    part: Part, message: str, templates: Sequence[str], parts: Sequence[Part], *, misread: bool = False
) -> Notation:
    token = part.token
    start, end = (part.start, part.end) if token is None else (token.start, token.end)
    return Notation(message, start, end, tuple(parts), tuple(templates), misread)


def _operator(part: Part, _: Context) -> Notation | None:
    table: str = part.kind
    operands = part.children
    if part.kind == "is":
        word = operands[1].text if operands[1].kind == "name" else ""
        table = f"is/{word if word in ('None', 'True', 'False') else ''}"
        operands = operands[:1] if table != "is/" else operands
    templates = _templates(table, part.text)
    if not templates:
        return None
    message = f'C++ has no "{part.text}"'
    if part.text == "//":
        message = '"//" begins a comment in C++'
    elif part.text in ("==", "!="):
        message = 'C++ has no "None"'
    elif part.text in ("not", "and", "or"):
        message = f'"{part.text}" is a condition of one value in C++'
    elif part.text == "if":
        message = 'C++ has no "a if condition else b"'
    elif part.text == "^":
        message = '"^" works on bits in C++; it does not raise to a power'
    return _at(part, message, templates, operands, misread=part.text == "^")


def _starred(part: Part, context: Context) -> Notation | None:
    """The notation of ``f(*sizes)`` and ``f(*[a, b])``."""
    parent, (value,) = context.parent, part.children
    if part.text != "*":
        return _operator(part, context)
    if parent is None or parent.kind != "call" or parent.children[0] is part:
        return None
    is_listed = value.kind in ("list", "tuple")
    items = value.children if is_listed else (value,)
    template = ", ".join(f"{{{index}}}" for index in range(len(items)))
    return replace(_at(part, 'C++ has no "*" before arguments', (template,), items), is_called=is_listed)


def _chain(part: Part, context: Context) -> Notation:
    parts = part.children
    signs = [context.text[operand.end : following.start].strip() for operand, following in pairwise(parts)]
    pairs = [f"{{{index}:i}} {sign} {{{index + 1}:i}}" for index, sign in enumerate(signs)]
    message = f'C++ compares the result of the first comparison: "{signs[0]}" does not chain'
    return _at(part, message, _joined(pairs, "&&", context), parts, misread=True)


def _joined(comparisons: Sequence[str], sign: str, context: Context) -> tuple[str, ...]:
    """Translate chained comparisons of numbers or tensors, with parentheses where needed."""
    together = f" {sign} ".join(comparisons), f" {sign[0]} ".join(f"({item})" for item in comparisons)
    parent = context.parent
    if parent is None or parent.kind in ("parentheses", "if", "conditional"):
        return together
    return tuple(f"({item})" for item in together)


def _contained(part: Part, context: Context) -> Notation:
    value, values = part.children
    message = f'C++ has no "{part.text}"'
    if values.kind not in ("tuple", "list", "parentheses", "braces") or not values.parts:
        return replace(_at(part, message, (), ()), hint="compare it with each element")
    sign, joint = ("==", "||") if part.text == "in" else ("!=", "&&")
    texts = [f"{{0:i}} {sign} {{{index}:i}}" for index in range(1, len(values.children) + 1)]
    return _at(part, message, _joined(texts, joint, context), (value, *values.children))


def _name(part: Part, context: Context) -> Notation | None:
    parent = context.parent
    if part.text in context.variables:
        if part.text not in context.flags or not _is_condition_of(part, context.parents):
            return None
        message = f'C++ tests whether "{part.text}" has a value, not whether it is true'
        return Notation(message, part.start, part.end, (), (f"{part.text}.value_or(false)",), misread=True)
    templates = _templates("name", part.text)
    if not templates and parent is not None and parent.kind in ("call", "keyword") and parent.parts[0] is not part:
        templates = _templates("type", part.text)
        return _at(part, f'"{part.text}" is a type of C++, not a dtype', templates, ()) if templates else None
    if parent is not None and parent.kind == "keyword":
        templates = templates or _templates("type", part.text)
    if part.text == "None" and parent is not None and parent.kind in ("if", "conditional"):
        templates = templates[::-1]
    return _at(part, f'C++ has no "{part.text}"', templates, ()) if templates else None


def _is_condition_of(part: Part, parents: Sequence[Part]) -> bool:
    """Whether a part is a condition or part of one."""
    for parent in reversed(parents):
        if parent.text in ("not", "!", "and", "or", "&&", "||"):
            return True
        if parent.kind in ("if", "conditional"):
            return parent.children[parent.kind == "if"] is part
        if parent.kind != "parentheses":
            return False
        part = parent
    return False


def _module(part: Part, context: Context) -> tuple[Part, tuple[str, ...], str] | None:
    """The module of a dotted name, its C++ namespace, and the rest of the name; or None."""
    names = part.dotted.split(".")
    if len(names) < 2 or names[0] in context.variables:
        return None
    owner = part.children[0]
    for length in range(len(names) - 1, 0, -1):
        prefixes = _templates("module", ".".join(names[:length]))
        if prefixes:
            return owner, prefixes, "_".join(names[length:])
        owner = owner.children[0] if owner.parts else owner
    return None


def _member(part: Part, context: Context) -> Notation | None:
    module = _module(part, context)
    parent = context.parent
    is_called = parent is not None and parent.kind == "call" and parent.parts[0] is part
    if module is not None:
        owner, prefixes, name = module
        root = owner
        while root.parts:
            root = root.children[0]
        values = _templates("member", name)
        arguments = context.text[part.token.end : part.end] if part.token is not None else ""
        written = (f"{prefix}{name}{ending}{arguments}" for ending in ("", "_symint") for prefix in prefixes)
        templates = values or tuple(written)
        message = f'C++ has no module "{context.text[root.start : owner.end]}"'
        return Notation(message, root.start, part.end if values else owner.end, (), templates, is_called=is_called)
    if is_called:
        return None
    templates = _templates("attribute", part.text)
    return _at(part, f'C++ has no attribute "{part.text}"', templates, part.children) if templates else None


def _call(part: Part, context: Context) -> Notation | None:
    callee, *arguments = part.children
    if any(argument.kind in ("keyword", "unpacking") for argument in arguments):
        return None
    count = len(arguments)
    if callee.kind == "member":
        templates = _templates(f"call/{count}", callee.text)
        if templates and _module(callee, context) is None:
            message = f'C++ has no method "{callee.text}"'
            if callee.text in _IN_BOTH:
                message = f'C++ has no "{callee.text}" with {count or "no"} argument{"s" if count != 1 else ""} here'
            return _at(callee, message, templates, (*callee.children, *arguments))
    elif callee.kind == "name" and callee.text not in context.variables:
        if callee.text == "isinstance" and count == 2:
            return _isinstance(callee, *arguments)
        if callee.text == "float" and count == 1 and arguments[0].kind in ("string", "other"):
            written = context.text[arguments[0].start : arguments[0].end].strip("'\"").lower()
            templates = _templates("infinite", written)
            if _is_number(written):
                templates = (written,)
            if templates:
                return _at(callee, "C++ makes no number of a text", templates, (), misread=True)
        message = f'C++ has no function "{callee.text}"'
        templates = _templates(f"builtin/{count}", callee.text)
        if not templates:
            templates = _templates(f"function/{count}", callee.text)
            message += " for these types"
        if templates:
            return _at(callee, message, templates, arguments)
    if (
        callee.kind == "member"
        and count > 1
        and all(argument.kind not in ("list", "tuple", "braces") for argument in arguments)
    ):
        # view(2, 3), permute(0, 2, 1)
        listed = ", ".join(f"{{{index}}}" for index in range(1, count + 1))
        owner = context.text[callee.children[0].end : callee.end]
        message = f'"{callee.text}" takes one list of numbers in C++'
        templates = tuple(f"{{0:p}}{owner}{ending}({{{{{listed}}}}})" for ending in ("_symint", ""))
        # C++ reads "expand(2, 3)" as a size and a flag
        misread = callee.text == "expand" and arguments[-1].kind in ("index", "number", "unary")
        sizes = _at(callee, message, templates, (*callee.children, *arguments), misread=misread)
        return sizes if _module(callee, context) is None else None
    return None


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text)) and "_" not in text
    except ValueError:
        return False


def _isinstance(callee: Part, value: Part, type: Part) -> Notation:
    name = type.dotted or type.text
    is_tensor = name in ("Tensor", "torch.Tensor")
    templates = _templates("builtin/2", callee.text) if is_tensor else _templates("isinstance", name)
    notation = _at(callee, f'C++ has no function "{callee.text}"', templates, (value,))
    return replace(notation, hint="the schema declares the type")


def _bracketed(part: Part, context: Context) -> Notation | None:
    parent = context.parent
    is_argument = parent is not None and parent.kind in ("call", "index", "keyword", "in")
    is_result = all(parent.kind in ("if", "conditional") for parent in context.parents)
    is_value = is_argument or (is_result and len(part.parts) == context.n_values)
    if part.kind == "tuple" and part.parts and not is_value:
        # "(a, b)" may mean b
        return None
    starred = [item for item in part.children if item.kind == "unary" and item.text == "*"]
    if starred:
        # of one list nothing has to be made; several cannot be joined in a formula
        message = 'C++ cannot unpack a list with "*"'
        return _at(part, message, ("{0}",)[: len(part.children) == 1], starred[0].children, misread=True)
    listed = ", ".join(f"{{{index}}}" for index in range(len(part.parts)))
    if part.kind == "list":
        message = "C++ writes lists in braces"
    elif context.text[part.start : part.start + 1] == "(" and part.token is not None and part.token.text == "(":
        message = "C++ writes tuples in braces, or with std::make_tuple"
    else:
        message = "a formula is one value in C++"
    templates = (f"{{{{{listed}}}}}", f"std::vector<Tensor>({{{{{listed}}}}})")[: 1 + bool(listed)]
    if parent is None or parent.kind in ("if", "conditional"):
        if part.parts and all(item.kind == "name" and item.text == "None" for item in part.children):
            types = ", ".join("Tensor" for _ in part.parts)
            return _at(part, message, (f"std::tuple<{types}>()",), (), misread=True)
        templates = (f"std::make_tuple({listed})", f"std::vector<Tensor>({{{{{listed}}}}})")
    return _at(part, message, templates, part.children, misread=part.kind == "tuple")


def _string(part: Part, context: Context) -> Notation | None:
    written = part.text
    if not written or part.token is None or part.token.type not in ("STRING", PYTHON_STRING):
        return None
    quote = written[-1:]
    prefix, _, inside = written[:-1].partition(quote)
    if part.kind == "string" and "f" in prefix.lower() and "{" in inside:
        return replace(_at(part, "C++ has no f-strings", (), ()), hint="write a text without values in it")
    devices = _templates("string", inside)
    # the meaning of a string is only known for arguments
    inside = inside.replace("{", "{{").replace("}", "}}").replace('"', '\\"') if quote == "'" else inside
    message = (
        "C++ writes strings in double quotes" if quote == "'" else f'C++ has no strings with "{prefix}" before them'
    )
    if part.kind == "other":
        return _at(part, "C++ takes no device as a string here", devices, ()) if devices and not prefix else None
    return _at(part, message, (f'"{inside}"', *devices), (), misread=True)


def _number(part: Part, _: Context) -> Notation | None:
    text = part.text
    if "_" in text and text.replace("_", "").isalnum():
        return _at(part, f'"{text}" is not a number in C++', (text.replace("_", "'"),), ())
    if text[-1:] in "jJ":
        return _at(part, "C++ has no imaginary numbers", (f"c10::complex<double>(0, {text[:-1]})",), ())
    if text[:2] in ("0o", "0O"):
        return _at(part, f'"{text}" is not a number in C++', (f"0{text[2:]}",), ())
    return None


def _lambda(part: Part, context: Context) -> Notation:
    *parameters, _body = part.children
    declared = ", ".join(f"const Tensor& {parameter.text}" for parameter in parameters)
    template = f"[&]({declared}) {{{{ return {{{len(parameters)}}}; }}}}"
    notation = _at(part, "C++ writes lambdas in another way", (template,), part.children)
    return replace(notation, is_guess=not any(parent.kind == "call" for parent in context.parents))


def _comprehension(part: Part, _: Context) -> Notation:
    hint = "write the elements in braces, or call a function of FunctionsManual.h"
    return replace(_at(part, "C++ has no comprehensions", (), ()), hint=hint)


#: Methods that tensors have in C++ too.
_IN_BOTH = ("size", "item", "type", "stride", "is_floating_point")

# ---- subscripts


def _is_negative(part: Part) -> bool:
    return part.kind == "unary" and part.text == "-" and part.children[0].kind == "number"


def _index(part: Part, context: Context) -> Notation | None:
    base, *items = part.children
    plain = len(items) == 1 and items[0].kind not in ("slice", "ellipsis")
    called = base.children[0] if base.kind == "call" and len(base.parts) == 1 else base
    if plain and called.kind == "member" and (called is not base or called.text == "shape"):
        templates = _templates("item", called.text)
        if templates and (called.text in ("shape", "size", "stride") or _is_negative(items[0])):
            message = f'C++ has no attribute "{called.text}"'
            if called.text != "shape":
                message = f'"{called.text}" takes the dimension in C++'
            if called.text.endswith(("sizes", "strides")):
                message = "C++ does not count from the end of a list"
            start, end = called.token.start if called.token else called.start, part.end
            if called.text == "shape":
                end = called.end
            return Notation(message, start, end, (*called.children, items[0]), templates, misread=True)
    if plain and _is_negative(items[0]) and base.kind == "name" and base.text == "grads":
        return None
    if plain and (is_condition(items[0]) or items[0].text == "mask"):
        message = "C++ selects no elements with a mask in brackets"
        return _at(part, message, ("{0:p}.masked_select({1})", "{0:p}.index({{{1}}})"), (base, items[0]), misread=True)
    if plain and items[0].kind == "number" and base.kind == "call":
        return _at(part, "C++ takes elements of tuples with std::get", (f"std::get<{items[0].text}>({{0}})",), (base,))
    if plain and not (items[0].kind == "name" and items[0].text == "None"):
        return None
    return _subscripts(part, base, items)


def is_condition(part: Part) -> bool:
    """Whether a part is a comparison, or a negated mask."""
    while part.kind == "parentheses":
        part = part.children[0]
    signs = ("<", ">", "<=", ">=", "==", "!=", "~")
    return part.kind in ("binary", "unary", "chain", "is") and part.text in signs


def _subscripts(part: Part, base: Part, items: Sequence[Part]) -> Notation:
    """Translate several subscripts and slices, one method for each."""
    ellipses = [index for index, item in enumerate(items) if item.kind == "ellipsis"]
    first = ellipses[0] if ellipses else len(items)
    ahead, after = items[:first], items[first + 1 :]
    parts = [base]
    made: list[str] = []
    for symbolic in (False, True):
        parts = [base]
        text = "{0:p}"
        dim = 0
        for item in ahead:
            method, stays = _subscript(item, dim, parts, symbolic)
            text += method
            dim += not stays
        dim = -1
        for item in reversed(after):
            method, stays = _subscript(item, dim, parts, symbolic)
            text += method
            dim -= not stays
        made.append(text)
    shown = "slices" if any(item.kind == "slice" for item in items) else "subscripts like these"
    if len(items) == 1 and items[0].kind == "name":
        shown = '"None" in brackets'
    # size lists have a method "slice", but saved ones do not
    templates = tuple(dict.fromkeys((*_list_slices(items), *made)))
    return _at(part, f"C++ has no {shown}", templates, parts, misread=True)


def _list_slices(items: Sequence[Part]) -> Iterator[str]:
    """The ways to write a slice of a list whose bounds are numbers."""
    bounds = [*items[0].parts, None, None][:3] if len(items) == 1 and items[0].kind == "slice" else []
    texts = [None if bound is None else bound.text for bound in bounds]
    if texts in ([], [None, None, None]) or not all(text is None or text.isdecimal() for text in texts) or texts[2]:
        return
    start, stop = int(texts[0] or 0), texts[1]
    length = "" if stop is None else f", {max(int(stop) - start, 0)}"
    for name in ("c10::SymIntArrayRef", "c10::IntArrayRef"):
        yield f"{name}({{0}}).slice({start}{length})"


def _subscript(item: Part, dim: int, parts: list[Part], symbolic: bool) -> tuple[str, bool]:
    """The method for a subscript, and whether it removes the dimension."""
    ending = "_symint" if symbolic else ""
    if item.kind == "name" and item.text == "None":
        return f".unsqueeze({dim})", False
    if item.kind != "slice":
        parts.append(item)
        return f".select{ending}({dim}, {{{len(parts) - 1}}})", True
    bounds = [*item.parts, None, None][:3]
    if bounds[:2] == [None, None] and bounds[2] is None:
        return "", False
    step = bounds[2]
    if step is not None and _is_negative(step) and bounds[:2] == [None, None] and step.children[0].text == "1":
        return f".flip({dim})", False
    texts: list[str] = []
    for bound in bounds:
        if bound is not None:
            parts.append(bound)
            texts.append(f"{{{len(parts) - 1}}}")
        else:
            texts.append("0" if not texts else "std::nullopt")
    while texts[-1] == "std::nullopt":
        del texts[-1]
    return f".slice{ending}({dim}, {', '.join(texts)})", False


_READERS: dict[str, Callable[[Part, Context], Notation | None]] = {
    "binary": _operator,
    "unary": _starred,
    "is": _operator,
    "if": _operator,
    "chain": _chain,
    "in": _contained,
    "name": _name,
    "member": _member,
    "call": _call,
    "list": _bracketed,
    "tuple": _bracketed,
    "string": _string,
    "other": _string,
    "number": _number,
    "lambda": _lambda,
    "comprehension": _comprehension,
    "index": _index,
}
