"""Decide which ``<`` opens template arguments and which ``(`` opens a C-style cast.

C++ decides by name lookup: ``f(a < b, c > (d))`` has one argument if ``a`` is a template and two if not. No
declarations are at hand here, so ``<`` after a name opens template arguments if only type tokens precede its ``>``, no
operand follows, and

* the name is a known template (``static_cast<double>(x)``), or the arguments name a well-known type
  (``x.item<float>()``);
* or the name is qualified and ``(`` follows (``at::foo<a>(x)``);
* or ``{``, ``::`` or ``()`` follows, which never follows a comparison.

Everything else is a comparison: ``x < -1``, ``a < b && c > d``, ``(p < n) > (m)``.
"""

from __future__ import annotations

from derivlint.formula.vocabulary import DECLARATORS, Token, words

KNOWN_TEMPLATES = words(
    "get get_if holds_alternative vector tuple array pair optional variant complex function initializer_list "
    "unique_ptr shared_ptr make_unique make_shared make_optional make_tuple make_pair numeric_limits "
    "static_cast const_cast dynamic_cast reinterpret_cast is_same is_same_v "
    "ArrayRef OptionalArrayRef SmallVector List Dict intrusive_ptr toOpMathType opmath_type"
)
BUILT_IN_TYPES = words("bool char short int long float double unsigned signed void wchar_t char8_t char16_t char32_t")
#: Names that always denote types.
TYPE_WORDS = BUILT_IN_TYPES | words(
    "const volatile int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t ptrdiff_t string_view "
    "Tensor Scalar SymInt SymFloat SymBool IntArrayRef SymIntArrayRef TensorList ITensorListRef ScalarType "
    "TensorOptions"
)
_OPENS_OPERAND = frozenset({"IDENT", "NUMBER", "STRING", "CHAR", "PREFIX"})
_BEFORE_DECLARATOR_END = frozenset({",", ">", ">>"})
#: The maximum number of tokens in template arguments: a text of many ``<`` would otherwise take quadratic time.
MAX_TEMPLATE_TOKENS = 100


def mark_angles(tokens: list[Token]) -> list[Token]:
    """Mark ``<`` and ``>`` of template arguments; split a ``>>`` that closes two lists."""
    marks: dict[int, int] = {}
    for index, token in enumerate(tokens):
        if token.text == "<" and index not in marks:
            marks.update(_template_brackets(tokens, index))
    if not marks:
        return tokens
    marked: list[Token] = []
    for index, token in enumerate(tokens):
        closed = marks.get(index)
        if closed is None:
            marked.append(token)
        elif closed == 0:
            marked.append(Token("TEMPLATE_OPEN", "<", token.start, token.end))
        else:
            for offset in range(token.end - token.start):
                place = token.start + offset
                kind = "TEMPLATE_CLOSE" if offset < closed else "BINARY"
                marked.append(Token(kind, ">", place, place + 1))
    return marked


def _template_brackets(tokens: list[Token], opening: int) -> dict[int, int]:
    """The number of argument lists that each bracket closes, 0 for an opening one; empty for a comparison."""
    if opening == 0 or tokens[opening - 1].type != "IDENT":
        return {}
    name = tokens[opening - 1].text
    before = tokens[opening - 2].type if opening > 1 else ""
    is_template = name in KNOWN_TEMPLATES and before != "ACCESS"
    marks = {opening: 0}
    depth = 1
    names_type = False
    index = opening
    while depth:
        index += 1
        if index == len(tokens) or index - opening > MAX_TEMPLATE_TOKENS:
            return {}
        token = tokens[index]
        kind = token.type
        if kind == "IDENT":
            names_type = names_type or token.text in TYPE_WORDS
        elif token.text in ("<", ">", ">>"):
            if token.text == "<":
                if tokens[index - 1].type != "IDENT":
                    return {}
                marks[index] = 0
                depth += 1
            else:
                marks[index] = min(depth, len(token.text))
                depth -= marks[index]
        elif not _is_type_token(tokens, index, is_template):
            return {}
    follower = tokens[index + 1].type if index + 1 < len(tokens) else ""
    # in the body of a lambda a name after a type is declared: "std::vector<Tensor> x = y"
    declares = follower == "IDENT" and is_template and names_type
    if marks[index] < len(tokens[index].text) or (follower in _OPENS_OPERAND and not declares):
        return {}
    following = [token.type for token in tokens[index + 1 : index + 3]]
    is_called = follower == "LPAR" and (before == "SCOPE" or following[1:] == ["RPAR"])
    return marks if is_template or names_type or is_called or follower in ("LBRACE", "SCOPE") else {}


def _is_type_token(tokens: list[Token], index: int, is_template: bool) -> bool:
    token = tokens[index]
    if token.type in ("SCOPE", "COMMA", "NUMBER", "CHAR"):
        return True
    following = tokens[index + 1] if index + 1 < len(tokens) else token
    if token.text in DECLARATORS:
        return is_template or following.text in _BEFORE_DECLARATOR_END or following.text in (*DECLARATORS, "const")
    if token.text == "-":
        return following.type == "NUMBER" and (is_template or tokens[index - 1].text in ("<", ","))
    return is_template and token.text in ("+", "/", "%")


def mark_casts(tokens: list[Token]) -> list[Token]:
    """Mark the ``(`` of casts such as ``(double) x`` or ``(std::vector<Tensor>) x``."""
    for index, token in enumerate(tokens):
        if token.type == "LPAR" and index + 3 < len(tokens) and _opens_cast(tokens, index):
            tokens[index] = Token("CAST_OPEN", token.text, token.start, token.end)
    return tokens


_ENDS_OPERAND = frozenset(
    {"IDENT", "NUMBER", "STRING", "CHAR", "RPAR", "RSQB", "RBRACE", "TEMPLATE_CLOSE", "STEP", "LAMBDA"}
)


_CAST_TOKENS = frozenset({"IDENT", "SCOPE", "TEMPLATE_OPEN", "TEMPLATE_CLOSE"})


def _opens_cast(tokens: list[Token], index: int) -> bool:
    following = tokens[index + 1]
    if following.type != "IDENT" or (index and tokens[index - 1].type in _ENDS_OPERAND):
        return False
    last_word = ""
    depth, is_template = 0, False
    index += 1
    while index < len(tokens) and (depth or tokens[index].type in _CAST_TOKENS or tokens[index].text in DECLARATORS):
        kind = tokens[index].type
        depth += (kind == "TEMPLATE_OPEN") - (kind == "TEMPLATE_CLOSE")
        is_template = is_template or kind == "TEMPLATE_CLOSE"
        if kind == "IDENT" and not depth:
            last_word = tokens[index].text
        index += 1
    is_type = last_word in TYPE_WORDS or (is_template and last_word in KNOWN_TEMPLATES)
    if not is_type or index + 1 >= len(tokens) or tokens[index].type != "RPAR":
        return False
    follower = tokens[index + 1]
    if follower.type in _OPENS_OPERAND or follower.type == "LPAR":
        return True
    return last_word in BUILT_IN_TYPES and follower.type in ("BOTH", "STEP", "SCOPE")
