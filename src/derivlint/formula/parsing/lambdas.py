"""Find the lambdas of a formula before parsing.

The parser gets ``[](int64_t i) { return -i; }`` as the tokens before the returned expression, the expression, and the
closing ``; }``. Any other body is one opaque token with its words.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from derivlint.formula.nodes import LambdaParam, Name, NamePart
from derivlint.formula.vocabulary import DECLARATORS, KEYWORD, SEMICOLON, Token

_ENDS_OPERAND = frozenset({"IDENT", "NUMBER", "STRING", "CHAR", "RPAR", "RSQB", "RBRACE", "TEMPLATE_CLOSE", "STEP"})
_CLOSING = {"RPAR": "LPAR", "RSQB": "LSQB", "RBRACE": "LBRACE"}
_OPENING = frozenset({"LPAR", "CAST_OPEN", "LSQB", "LBRACE"})
_IN_TYPES = frozenset({"IDENT", "SCOPE", "TEMPLATE_OPEN", "TEMPLATE_CLOSE", "COMMA"})
#: The tokens before a statement or declared parameter; empty for the beginning.
_STATEMENT_LIMITS = frozenset({"", ";", "{", "}", "("})


class LambdaInfo(Struct, eq=False):
    """The parts of a lambda.

    Attributes:
        start: its start offset.
        end: its end offset.
        capture_end: the offset after the closing bracket of the captures.
        params: the parameters.
        local_names: the parameters, and the variables that a body of statements declares.
        types: the tokens of declared types, of those in a body without what is in angle brackets.
        uses: the identifiers of outside variables in the captures and in a body of statements.
        body: the tokens of a body of statements.
    """

    start: int
    end: int
    capture_end: int
    params: tuple[LambdaParam, ...] = ()
    local_names: set[str] = field(default_factory=set)
    types: list[Token] = field(default_factory=list)
    uses: list[Token] = field(default_factory=list)
    body: list[Token] = field(default_factory=list)

    @property
    def type_starts(self) -> set[int]:
        """The offsets of words in declared types."""
        return {token.start for token in self.types if token.type == "IDENT"}

    @property
    def type_names(self) -> tuple[Name, ...]:
        """The names in declared types, without their template arguments, which follow as names of their own."""
        names: list[Name] = []
        before: Token | None = None
        for token in self.types:
            # "using Pair = ...;" in the body declares a type
            if token.type == "IDENT" and token.text not in self.local_names:
                part = NamePart(token.text, token.start, token.end)
                is_qualified = before is not None and before.type == "SCOPE"
                parts = (*names.pop().parts, part) if is_qualified and names else (part,)
                names.append(Name(parts[0].start, token.end, parts, False, None if is_qualified else token.text))
            before = token
        return tuple(names)


def mark_lambdas(tokens: list[Token]) -> tuple[list[Token], list[LambdaInfo]]:
    """Mark the lambdas; return the tokens for the parser and the parts of each lambda."""
    if not any(_may_begin(tokens, index) for index, token in enumerate(tokens) if token.type == "LSQB"):
        return tokens, []
    partner = partners(tokens)
    marked: list[Token] = []
    infos: list[LambdaInfo] = []
    ends: set[int] = set()
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if index in ends:
            marked.append(Token("LAMBDA_END", "", token.start, tokens[index + 1].end))
            index += 2
            continue
        lambda_ = _lambda_at(tokens, index, partner) if token.type == "LSQB" and _may_begin(tokens, index) else None
        if lambda_ is None:
            marked.append(token)
            index += 1
            continue
        info, brace = lambda_
        infos.append(info)
        closing = partner[brace]
        if _is_single_return(tokens, brace, closing, partner):
            marked.append(Token("LAMBDA_RETURN", "", token.start, tokens[brace + 1].end, info))
            ends.add(closing - 1)
            index = brace + 2
        else:
            info.body = tokens[brace + 1 : closing]
            _read_statements(info)
            marked.append(Token("LAMBDA", "", token.start, tokens[closing].end, info))
            index = closing + 1
    return marked, infos


def _may_begin(tokens: list[Token], index: int) -> bool:
    return index == 0 or tokens[index - 1].type not in _ENDS_OPERAND


def partners(tokens: list[Token]) -> dict[int, int]:
    """Map the index of each matched opening bracket to that of its closing one."""
    partner: dict[int, int] = {}
    stack: list[int] = []
    for index, token in enumerate(tokens):
        if token.type in _OPENING:
            stack.append(index)
        elif token.type in _CLOSING and stack:
            partner[stack.pop()] = index
    return partner


def _lambda_at(tokens: list[Token], index: int, partner: dict[int, int]) -> tuple[LambdaInfo, int] | None:
    """The lambda that starts at a ``[`` and the index of its body's brace, or None."""
    captures_end = partner.get(index)
    if captures_end is None or captures_end + 1 >= len(tokens):
        return None
    position = captures_end + 1
    params: tuple[int, int] | None = None
    if tokens[position].type == "LPAR":
        close = partner.get(position)
        if close is None:
            return None
        params = (position + 1, close)
        position = close + 1
    # skip specifiers before the body: "mutable", "noexcept", "-> Tensor"
    while position < len(tokens) and tokens[position].type != "LBRACE":
        allowed = ("IDENT", "SCOPE", "ACCESS", "TEMPLATE_OPEN", "TEMPLATE_CLOSE", "COMMA", "BOTH", "BINARY")
        if tokens[position].type not in allowed:
            return None
        position += 1
    if position not in partner:
        return None
    end = tokens[partner[position]].end
    info = LambdaInfo(tokens[index].start, end, tokens[captures_end].end)
    between = tokens[(params[1] if params else captures_end) + 1 : position]
    info.types.extend(between)
    if params is not None:
        info.params = read_params(tokens[params[0] : params[1]], info)
    for place in range(index + 1, captures_end):
        if tokens[place].type == "IDENT" and tokens[place + 1].text == "=":
            info.local_names.add(tokens[place].text)
        elif tokens[place].type == "IDENT" and tokens[place - 1].type not in ("ACCESS", "SCOPE"):
            info.uses.append(tokens[place])
    return info, position


def _is_single_return(tokens: list[Token], brace: int, closing: int, partner: dict[int, int]) -> bool:
    """Whether the body between two braces is a single ``return`` of an expression."""
    if closing - brace < 4 or tokens[brace + 1].text != "return" or tokens[closing - 1].type != SEMICOLON:
        return False
    index = brace + 2
    while index < closing - 1:
        if tokens[index].type in (SEMICOLON, KEYWORD):
            return False
        index = partner.get(index, index) + 1
    return True


def read_params(tokens: list[Token], info: LambdaInfo | None = None) -> tuple[LambdaParam, ...]:
    """Read the parameters in the parentheses of a lambda or function; record those of a lambda in its info.

    Args:
        tokens: the tokens between the parentheses.
        info: the info of the lambda.
    """
    params = []
    for group in _split_at_commas(tokens):
        if not group:
            continue
        cut = next((i for i, token in enumerate(group) if token.text == "="), len(group))
        declared = group[:cut]
        if not declared:
            continue
        start, end = group[0].start, group[-1].end
        last = declared[-1]
        named = last.type == "IDENT" and len(declared) > 1 and declared[-2].type != "SCOPE" and last.text != "const"
        types = declared[:-1] if named else declared
        if info is not None:
            info.types.extend(types)
            info.local_names.update({last.text} if named else ())
        if named:
            param = LambdaParam(start, end, last.text, last.start, last.end, start, types[-1].end)
        else:
            param = LambdaParam(start, end, "", end, end, start, types[-1].end)
        params.append(param)
    return tuple(params)


def _split_at_commas(tokens: list[Token]) -> list[list[Token]]:
    groups: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        if token.text == "," and depth == 0:
            groups.append([])
            continue
        if token.text in ("<", "(", "[", "{"):
            depth += 1
        elif token.text in (">", ")", "]", "}"):
            depth -= 1
        elif token.text == ">>":
            depth -= 2
        groups[-1].append(token)
    return groups


def _read_statements(info: LambdaInfo) -> None:
    """Record the variables that a body declares, and the outside variables that it uses."""
    body = info.body
    for index in _declared(body):
        info.local_names.add(body[index].text)
        _mark_declared_type(info, index)
    type_starts = info.type_starts
    for index, token in enumerate(body):
        if token.type != "IDENT" or token.text in info.local_names or token.start in type_starts:
            continue
        before = body[index - 1].type if index else ""
        after = body[index + 1].type if index + 1 < len(body) else ""
        if before not in ("SCOPE", "ACCESS") and after not in ("SCOPE", "LPAR", "LBRACE", "TEMPLATE_OPEN"):
            info.uses.append(token)


class _Bracket(Struct):
    """An open bracket of a body.

    Attributes:
        has_parameters: whether it is that of a lambda's parameters.
        has_bindings: whether it is that of a structured binding: ``const auto& [x, y]``.
        declares: whether the current statement in it has declared a variable.
    """

    has_parameters: bool = False
    has_bindings: bool = False
    declares: bool = False


def _declared(body: list[Token]) -> Iterator[int]:
    """The indices of declared names: ``auto x =``, ``std::vector<int> x, y;``, ``const auto& [x, y] =``."""
    brackets = [_Bracket()]
    #: for each index, the last token up to it that cannot be in a type, which may begin a statement
    limits: list[str] = []
    for index, token in enumerate(body):
        limits.append((limits[-1] if limits else "") if token.type in _IN_TYPES else token.text)
        if token.text in ("(", "[", "{"):
            before = [previous.text for previous in body[max(index - 2, 0) : index]]
            is_binding = before[-1:] == ["auto"] or before in (["auto", "&"], ["auto", "&&"])
            has_parameters = token.text == "(" and before[-1:] == ["]"]
            brackets.append(_Bracket(has_parameters, token.text == "[" and is_binding))
        elif token.text in (")", "]", "}") and len(brackets) > 1:
            brackets.pop()
        elif token.text == ";":
            brackets[-1].declares = False
        elif token.type == "IDENT" and _is_declared(body, index, brackets[-1], limits):
            yield index
            if index and body[index - 1].text != "," and limits[index - 1] in _STATEMENT_LIMITS:
                brackets[-1].declares = True


def _is_declared(body: list[Token], index: int, bracket: _Bracket, limits: list[str]) -> bool:
    before = body[index - 1] if index else None
    after = body[index + 1].text if index + 1 < len(body) else ""
    if before is None:
        return False
    follows_type = before.type in ("IDENT", "TEMPLATE_CLOSE")
    if bracket.has_bindings and before.text in ("[", ",") and after in (",", "]"):
        return True
    if bracket.has_parameters and (follows_type or before.text in DECLARATORS) and after in (",", ")"):
        return True
    if after not in ("=", ";", ":", "{", "(", ","):
        return False
    if before.text == ",":
        return bracket.declares
    is_declarator = before.text in DECLARATORS and index > 1 and limits[index - 2] in _STATEMENT_LIMITS
    return follows_type or before.text == "using" or is_declarator


def _mark_declared_type(info: LambdaInfo, index: int) -> None:
    # a structured binding has its type before the bracket
    position = index - 1 - (info.body[index - 1].text == "[")
    while position >= 0 and (info.body[position].type in ("IDENT", "SCOPE") or info.body[position].text in DECLARATORS):
        position -= 1
    info.types.extend(info.body[position + 1 : index])
