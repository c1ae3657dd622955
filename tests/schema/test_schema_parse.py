"""Reading schemas: structure, places, tolerance and errors."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derivlint.schema import (
    Annotation,
    Argument,
    BaseType,
    CustomClassType,
    FunctionSchema,
    ListType,
    OperatorName,
    OptionalType,
    Return,
    SchemaError,
    SchemaKind,
    parse_schema,
    parse_type,
)
from derivlint.schema.syntax.grammar_parser import parse_with_grammar
from derivlint.schema.syntax.parser import MAX_LENGTH, is_canonical
from derivlint.source import Span
from tests.sampling import CAMPAIGN

pytestmark = pytest.mark.long

TENSOR = BaseType("Tensor")
SHAPE = "the form of a schema is name.overload(Type argument=default, *, Type keyword) -> ReturnType"


def test_structure_of_an_out_schema() -> None:
    schema = parse_schema("add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)")
    write = Annotation(("a",), is_write=True)
    assert schema.name == OperatorName("add", overload="out")
    assert schema.arguments.pre_self_positional == ()
    assert schema.arguments.self_arg == Argument("self", TENSOR)
    assert schema.arguments.post_self_positional == (Argument("other", TENSOR),)
    assert schema.arguments.pre_tensor_options_kwarg_only == (Argument("alpha", BaseType("Scalar"), "1"),)
    assert schema.arguments.tensor_options is None
    assert schema.arguments.out == (Argument("out", TENSOR, None, write),)
    assert schema.returns == (Return(None, TENSOR, write),)
    assert (schema.kind, schema.is_out, schema.modifies_arguments) == (SchemaKind.out, True, True)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("abs(Tensor self) -> Tensor", SchemaKind.functional),
        ("abs_(Tensor(a!) self) -> Tensor(a!)", SchemaKind.inplace),
        ("abs.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", SchemaKind.out),
        ("f(Tensor x, Tensor(a!) y) -> Tensor", SchemaKind.mutable),
        ("f.out(Tensor x, *, Tensor(a!) _scratch_y, Tensor(b!) out) -> Tensor(b!)", SchemaKind.scratch),
        ("__iand__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)", SchemaKind.inplace),
    ],
)
def test_kinds(text: str, kind: SchemaKind) -> None:
    assert parse_schema(text).kind is kind


def test_tensor_options_are_grouped() -> None:
    schema = parse_schema(
        "full(SymInt[] size, *, bool x=True, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
        "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"
    )
    options = schema.arguments.tensor_options
    assert options is not None
    assert [a.name for a in options.all] == ["dtype", "layout", "device", "pin_memory"]
    assert [a.name for a in schema.arguments.pre_tensor_options_kwarg_only] == ["x"]
    assert [a.name for a in schema.arguments.post_tensor_options_kwarg_only] == ["memory_format"]
    assert str(schema.signature()) == "full(SymInt[] size, *, bool x=True, MemoryFormat? memory_format=None) -> Tensor"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int[2]?", OptionalType(ListType(BaseType("int"), 2))),
        ("Tensor?[]", ListType(OptionalType(TENSOR), None)),
        ("int[0]", ListType(BaseType("int"), 0)),
        ("__torch__.torch.classes.rnn.CellParamsBase[]", ListType(CustomClassType("rnn.CellParamsBase"), None)),
        ("ConstQuantizerPtr", BaseType("ConstQuantizerPtr")),
    ],
)
def test_types(text: str, expected: object) -> None:
    assert parse_type(text) == expected
    assert str(parse_type(text)) == text
    assert parse_type(text) is parse_type(text)


def test_unknown_base_types_are_marked() -> None:
    assert BaseType("Tensor").known
    assert not BaseType("ConstQuantizerPtr").known


@pytest.mark.parametrize("text", ["", "int[", "int[x]", "3", "Tensor?" * 2, "T" + "?" * 17])
def test_texts_that_are_no_types(text: str) -> None:
    with pytest.raises(SchemaError):
        parse_type(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abs", OperatorName("abs")),
        ("abs_", OperatorName("abs", inplace=True)),
        ("add_.Tensor", OperatorName("add", inplace=True, overload="Tensor")),
        ("__and__.Scalar", OperatorName("and", dunder=True, overload="Scalar")),
        ("__ilshift__", OperatorName("lshift", inplace=True, dunder=True)),
        ("_fused_functional", OperatorName("_fused", functional_overload=True)),
        ("_foreach_add_.List", OperatorName("_foreach_add", inplace=True, overload="List")),
    ],
)
def test_operator_names(text: str, expected: OperatorName) -> None:
    assert OperatorName.parse(text) == expected
    assert str(expected) == text


@given(st.text("ab_i.", max_size=12))
def test_every_text_is_a_name_that_prints_back(text: str) -> None:
    name = OperatorName.parse(text)
    assert str(name) == text.removesuffix(".") if text.count(".") < 2 else text


def places(schema: FunctionSchema) -> list[str]:
    """The texts under all spans, in order."""
    spans = [schema.name_span]
    for argument in schema.arguments.flat_all:
        spans += [argument.type_span, argument.name_span, argument.default_span]
    for item in schema.returns:
        spans += [item.type_span, item.name_span]
    return [schema.text[span.start : span.end] for span in spans if span is not None]


SPACED = " add.x ( Tensor(a!)[] self,int [2]b = [1 , 2], * , str s='x, y' )->( Tensor ( a -> * ) r,Tensor )"


def test_places_in_canonical_text() -> None:
    schema = parse_schema("add.x(Tensor(a!)[] self, int[2] b=[1,2], *, str s='x') -> (Tensor(a -> *) r, Tensor)")
    assert places(schema) == [
        *("add.x", "Tensor(a!)[]", "self", "int[2]", "b", "[1,2]", "str", "s", "'x'"),
        *("Tensor(a -> *)", "r", "Tensor"),
    ]


def test_places_in_text_with_other_blanks() -> None:
    schema = parse_schema(SPACED)
    assert str(schema) == "add.x(Tensor(a!)[] self, int[2] b=[1,2], *, str s='x, y') -> (Tensor(a -> *) r, Tensor)"
    assert schema.text == SPACED
    assert places(schema) == [
        *("add.x", "Tensor(a!)[]", "self", "int [2]", "b", "[1 , 2]", "str", "s", "'x, y'"),
        *("Tensor ( a -> * )", "r", "Tensor"),
    ]


def test_generated_schemas_have_no_places() -> None:
    schema = parse_schema("abs(Tensor self, int x=1) -> Tensor r").signature(keep_return_names=True)
    argument = schema.arguments.flat_all[1]
    assert schema.name_span is None
    assert (argument.type_span, argument.name_span, argument.default_span) == (None, None, None)
    assert (schema.returns[0].type_span, schema.returns[0].name_span) == (None, None)
    assert schema.text == "abs(Tensor self, int x=1) -> Tensor r"


def test_bernoulli_p_gets_the_default_of_its_in_place_form() -> None:
    functional = parse_schema("bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor")
    inplace = parse_schema("bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)")
    assert functional.signature_key == inplace.signature_key
    assert functional.signature_key == "bernoulli(Tensor self, float p=0.5, *, Generator? generator=None) -> Tensor"


def test_schemas_are_cached_by_text() -> None:
    text = "abs(Tensor self) -> Tensor"
    assert parse_schema(text) is parse_schema(text)


NAMESPACE = '"aten::" is a namespace, which a schema does not have'
UNRETURNED = 'end it with "-> Tensor", or with "-> ()" for none'

#: Text, with the offending part between the marks; message; help.
WRONG = [
    ("«»", "the schema is empty", SHAPE),
    ("« »", "the schema is empty", SHAPE),
    ("abs«»", 'expected "(" at the end', SHAPE),
    ("«3x»(Tensor self) -> Tensor", 'expected an operator name, found "3x"', SHAPE),
    ("abs«[»Tensor self) -> Tensor", 'expected "(" after the operator name, found "["', SHAPE),
    ("«aten::»abs(Tensor self) -> Tensor", NAMESPACE, 'remove "aten::"'),
    ("abs(«self») -> Tensor", 'argument "self" needs a type and a name', 'write "Tensor self"'),
    ("abs(int a, «Tensor», int b) -> Tensor", 'argument "Tensor" needs a type and a name', 'write "Tensor self"'),
    ("abs(«dim»=1) -> Tensor", 'argument "dim" needs a type and a name', 'write "Tensor dim"'),
    ("abs«(»Tensor self", '"(" is never closed', SHAPE),
    ("abs(Tensor self)«»", "the schema has no returns", UNRETURNED),
    ("abs(Tensor self) ->«» ", "the schema has no returns", UNRETURNED),
    ("abs(Tensor self) «Tensor»", 'expected "->", found "Tensor"', None),
    ("abs(Tensor self) «-» > Tensor", 'expected "->", found "-"', None),
    ("abs(Tensor self) -> Tensor x «y»", 'expected the end, found "y"', None),
    ("abs(Tensor self) -> «(»Tensor", '"(" is never closed', SHAPE),
    ("abs(Tensor self) -> (Tensor, «)»", 'expected a return after ",", found ")"', None),
    ("abs(Tensor self,«)» -> Tensor", 'expected an argument after ",", found ")"', None),
    ("f(int " + "a" * 9 + " «" + "b" * 50 + "») -> T", 'expected "=", "," or ")", found "' + "b" * 37 + '..."', None),
    ("abs«:»Tensor self) -> Tensor", 'expected "(" after the operator name, found ":"', SHAPE),
    ("abs(int x, «Tensor(a)») -> Tensor", 'argument "Tensor(a)" needs a type and a name', 'write "Tensor(a) self"'),
    ("abs(int x=1«=»2) -> Tensor", 'expected "," or ")", found "="', None),
    ("abs(int[] x=[1«)») -> Tensor", 'expected "," or "]", found ")"', None),
    ("abs(Tensor self) -> Tensor«)»", 'expected the end, found ")"', None),
    ("abs(«,» Tensor self) -> Tensor", 'expected an argument after "(", found ","', None),
    ("abs(Tensor a «Tensor» b) -> Tensor", 'expected "=", "," or ")", found "Tensor"', None),
    ("abs(Tensor a«;» Tensor b) -> Tensor", 'expected "=", "," or ")", found ";"', None),
    ("abs(int a=«)» -> Tensor", 'expected a number, a string, a word or "[", found ")"', None),
    ("abs(int a=[1,«)» -> Tensor", 'expected a number, a string, a word or "[", found ")"', None),
    ('abs(str a=«"»b) -> Tensor', "the string is never closed", None),
    ("abs(int[«x»] a) -> Tensor", 'expected a number or "]", found "x"', None),
    ("abs(int[«2.5»] a) -> Tensor", '"2.5" is not a list size, which is a whole number', None),
    ("abs(int[«-1»] a) -> Tensor", '"-1" is not a list size, which is a whole number', None),
    ("abs(Tensor(«)» a) -> Tensor", 'expected an alias set, one lower-case letter, found ")"', None),
    ("abs(Tensor(a|«)» a) -> Tensor", 'expected an alias set, one lower-case letter, found ")"', None),
    ("abs(Tensor(«ab») a) -> Tensor", '"ab" is not an alias set, which is one lower-case letter', None),
    ("abs(Tensor(a«+») a) -> Tensor", 'expected "!", "|", "->" or ")" in the alias annotation, found "+"', None),
    (
        "abs(Tensor?«(»a!) a) -> Tensor",
        'an alias annotation comes before any "?" or "[]" of the type',
        'write "Tensor(a!)?" or "Tensor(a!)[]"',
    ),
    ("abs(Tensor a, «*») -> Tensor", 'no argument follows "*"', None),
    (
        "abs(int a, *, int b, «*», int c) -> Tensor",
        '"*" occurs twice',
        "all arguments after the first are keyword-only",
    ),
    (
        "abs(int a, *, Tensor(a!) out, int «b») -> Tensor(a!)",
        'argument "b" follows the out arguments, which come last',
        None,
    ),
    ("abs(T" + "?" * 16 + "«?» a) -> T", 'a type has at most 16 of "?" and "[]"', None),
    ("abs(Tensor «ü») -> Tensor", 'expected a name, found "ü"', None),
]


@pytest.mark.parametrize(("marked", "message", "hint"), WRONG)
def test_errors(marked: str, message: str, hint: str | None) -> None:
    text = marked.replace("«", "").replace("»", "")
    with pytest.raises(SchemaError) as caught:
        parse_schema(text)
    found = caught.value.mistake
    assert (found.message, found.help) == (message, hint)
    assert (found.start, found.end) == (marked.index("«"), marked.index("»") - 1)


def test_very_long_texts_are_refused() -> None:
    text = "f(int x=" + "[" * MAX_LENGTH
    with pytest.raises(SchemaError, match=f"^the schema has {len(text)} characters, at most {MAX_LENGTH} are read$"):
        parse_schema(text)


def test_deeply_nested_defaults_are_read() -> None:
    text = "f(int x=" + "[" * 4000 + "]" * 4000 + ") -> ()"
    assert str(parse_schema(text)) == text


#: What Lark calls the terminals; messages must not.
GRAMMAR_NAMES = ("ANON", "LPAR", "RPAR", "LSQB", "RSQB", "QMARK", "COMMA", "EQUAL", "VBAR", "$END", "OPERATOR", "WORD")

SCHEMA_CHARACTERS = st.text(alphabet="ab_T.:()[]{}?!*|=-> ,1\"'\\é\n", max_size=40)


@settings(max_examples=400)
@given(
    st.one_of(
        st.text(max_size=40),
        SCHEMA_CHARACTERS,
        st.builds("f({}) -> {}".format, SCHEMA_CHARACTERS, SCHEMA_CHARACTERS),
        st.builds("f(Tensor{} x{}) -> T".format, SCHEMA_CHARACTERS, SCHEMA_CHARACTERS),
    )
)
def test_any_text_is_a_schema_or_an_error_inside_it(text: str) -> None:
    found = None
    try:
        schema = parse_schema(text)
    except SchemaError as error:
        found = error.mistake
    if found is not None:
        assert 0 <= found.start <= found.end <= len(text)
        assert not any(name in found.message for name in GRAMMAR_NAMES)
    else:
        assert schema.text == text
        assert parse_schema(str(schema)) == schema


identifiers = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True)
letters = st.sampled_from("abcdef")
alias_annotations = st.one_of(
    st.builds("{}".format, letters),
    st.builds("{}!".format, letters),
    st.builds("{}|{}".format, letters, letters),
    st.builds("{} -> *".format, letters),
    st.builds("{}! -> {}|{}".format, letters, letters, letters),
)
suffixes = st.lists(st.sampled_from(["?", "[]", "[0]", "[2]", "[12]"]), max_size=3).map("".join)
base_types = st.one_of(
    st.just("Tensor"), identifiers, st.builds("__torch__.torch.classes.{}.{}".format, *[identifiers] * 2)
)
types = st.builds("{}{}".format, base_types, suffixes)
annotated_types = st.builds("{}({}){}".format, base_types, alias_annotations, suffixes)
numbers = st.one_of(st.integers(-100, 100).map(str), st.floats(allow_nan=False, allow_infinity=False).map(repr))
strings = st.one_of(
    st.text('ab \\,()->="', max_size=6).map(lambda s: "'" + s.replace("\\", "\\\\") + "'"),
    st.text("ab'", max_size=6).map(lambda s: f'"{s}"'),
)
values = st.one_of(numbers, strings, identifiers, st.lists(numbers, max_size=3).map(lambda v: f"[{','.join(v)}]"))
read_only = st.one_of(types, st.builds("{}({})".format, base_types, letters))
plain_arguments = st.one_of(
    st.builds("{} {}".format, read_only, identifiers), st.builds("{} {}={}".format, types, identifiers, values)
)
any_arguments = st.one_of(plain_arguments, st.builds("{} {}".format, annotated_types, identifiers))
out_arguments = st.builds("{}({}!) {}".format, base_types, letters, identifiers)
return_items = st.one_of(types, annotated_types, st.builds("{} {}".format, annotated_types, identifiers))


@st.composite
def schemas(draw: st.DrawFn) -> str:
    name = draw(st.one_of(identifiers, st.builds("{}.{}".format, identifiers, identifiers)))
    parts = draw(st.lists(any_arguments, max_size=4))
    keyword = draw(st.lists(plain_arguments, max_size=3)) + draw(st.lists(out_arguments, max_size=2))
    if keyword:
        parts += ["*", *keyword]
    returns = draw(st.lists(return_items, max_size=3))
    shown = returns[0] if len(returns) == 1 else f"({', '.join(returns)})"
    return f"{name}({', '.join(parts)}) -> {shown}"


@settings(max_examples=1_000 if CAMPAIGN else 100)
@given(schemas())
def test_schemas_print_back_and_both_readers_agree(text: str) -> None:
    schema = parse_schema(text)
    assert str(FunctionSchema(schema.name, schema.arguments, schema.returns)) == str(schema) == text
    grammar = parse_with_grammar(text)
    assert grammar.arguments == schema.arguments
    assert grammar.returns == schema.returns
    assert grammar.name == schema.name
    assert places(grammar) == places(schema)
    assert schema.signature_key == str(schema.signature())
    assert schema.signature_key_no_defaults == str(schema.signature(strip_default=True))


@settings(max_examples=1_000 if CAMPAIGN else 100)
@given(schemas(), st.data())
def test_what_is_canonical_at_a_look_is_a_schema_that_prints_as_it_is_written(text: str, data: st.DataObject) -> None:
    # what divides arguments may be in a string
    assert is_canonical(text) or "'" in text or '"' in text
    place = data.draw(st.integers(0, len(text)))
    changed = text[:place] + data.draw(SCHEMA_CHARACTERS) + text[place + data.draw(st.integers(0, 9)) :]
    if is_canonical(changed):
        schema = parse_schema(changed)
        assert str(FunctionSchema(schema.name, schema.arguments, schema.returns)) == str(schema) == changed
        assert parse_with_grammar(changed).arguments == schema.arguments


@given(schemas(), st.data())
def test_blanks_do_not_matter_to_the_grammar(text: str, data: st.DataObject) -> None:
    if '"' in text or "'" in text:
        return
    pieces = text.replace(", ", ",").replace(" -> ", "->")
    spaced = "".join(c + (data.draw(st.sampled_from(["", " ", "\n  "])) if c in "(),[]=" else "") for c in pieces)
    assert parse_schema(spaced) == parse_schema(text)


def test_spans_are_spans() -> None:
    span = parse_schema("abs(Tensor self) -> Tensor").arguments.flat_all[0].name_span
    assert span == Span(11, 15)
