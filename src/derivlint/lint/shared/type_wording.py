"""Messages and helps about type problems, for the rules of each kind and uncompilable-variant."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from derivlint.cpp.cpp_type import BRACES, CHAR_POINTER, FUNCTION, TENSOR, UNKNOWN, VOID, CppType
from derivlint.cpp.declarations.declaration import Function
from derivlint.cpp.problem import TypeProblem, TypeProblemKind
from derivlint.lint.diagnostic import Confidence, Finding, Fix
from derivlint.lint.wording import counted, did_you_mean, quoted, quoted_list
from derivlint.model.generated.typing import FormulaProblem

#: The maximum length of help texts; longer ones are omitted.
LONG = 100
#: Descriptions of types whose spelling would not help an author.
NAMELESS = {
    BRACES: "a braced list",
    CHAR_POINTER: "a string literal",
    FUNCTION: "a function",
    UNKNOWN: "an unknown type",
}
#: The elementwise counterparts of boolean operators.
_OF_ELEMENTS = {"&&": "&", "||": "|"}
#: The return types of functions of numbers.
_NUMBERS = ("double ", "complex<", "std_complex<")
#: The maximum number of overloads to list.
MANY = 3


def shown(type: CppType) -> str:
    """Format a type for messages."""
    return NAMELESS.get(type) or quoted(type.text.replace("std_complex", "std::complex"))


def _all(types: Sequence[CppType], word: str = "or") -> str:
    names = list(dict.fromkeys(map(shown, types)))
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {word} {names[-1]}"


def _is(type: CppType) -> str:
    """Format ``is a "Tensor"``, ``is a braced list``, ``has an unknown type``."""
    text = shown(type)
    return f"is {text}" if text.startswith("a ") else f"is of type {text}"


def fact(problem: TypeProblem) -> str:
    """Format the message of a problem."""
    return _FACTS[problem.kind](problem)


def cure(problem: TypeProblem) -> str | None:
    """Format the help for a problem; None if no cure is known."""
    find = _CURES.get(problem.kind)
    return find(problem) if find is not None else None


def signatures(functions: Sequence[Function]) -> str | None:
    """Format the declarations of overloads, only one of many; None if there are none."""
    texts = list(dict.fromkeys(function.signature for function in functions))
    if len(texts) > MANY:
        return f"one of {len(texts)} declarations is {quoted(texts[0])}"
    return f"declared as {quoted_list(texts)}" if texts else None


def _count(problem: TypeProblem) -> str:
    count = len(problem.actual)
    least = min(function.required for function in problem.candidates)
    most = max(len(function.parameters) for function in problem.candidates)
    if count < least:
        takes = counted(least, "argument") if least == most else f"at least {counted(least, 'argument')}"
    elif count > most:
        takes = counted(most, "argument") if least == most else f"at most {counted(most, 'argument')}"
    else:
        counts = sorted({len(function.parameters) for function in problem.candidates})
        takes = f"{', '.join(map(str, counts[:-1]))} or {counts[-1]} arguments"
    be = "is" if count == 1 else "are"
    return (
        f"{quoted(problem.name)} takes {takes.replace('0 arguments', 'no argument')}, but {count or 'none'} {be} given"
    )


def _argument(problem: TypeProblem) -> str:
    index = problem.argument or 0
    parameter = f" ({quoted(problem.parameter)})" if problem.parameter else ""
    which = f"argument {index + 1}{parameter} of {quoted(problem.name)}"
    mutable = len(problem.expected) == 1 and problem.expected[0].referred is problem.actual[index]
    if mutable:
        return f"{which} is changed by the call and must be a variable"
    return f"{which} {_is(problem.actual[index])}, expected {_all(problem.expected)}"


def _no_member(problem: TypeProblem, owner: str) -> str:
    if problem.subject:
        # torchgen replaces saved properties regardless of the preceding text
        saved = f"torchgen replaces {quoted(problem.subject)} with the saved {quoted(problem.name)}"
        return f"{saved}, and {owner} has no such member"
    return f"{owner} has no member {quoted(problem.name)}"


def _operands(problem: TypeProblem) -> str:
    if len(problem.actual) == 1:
        return f"{quoted(problem.name)} is not defined for {shown(problem.actual[0])}"
    left, right = problem.actual
    if left == right:
        return f"{quoted(problem.name)} is not defined for two values of type {shown(left)}"
    return f"{quoted(problem.name)} is not defined between {shown(left)} and {shown(right)}"


def _tuple_index(problem: TypeProblem) -> str:
    type = problem.actual[0]
    if not problem.name:
        return f'"std::get" takes a tuple, but the value {_is(type)}'
    count = type.size or len(type.arguments)
    return f"{shown(type)} has no element {problem.name}: its {count} elements are counted from 0"


def _result(problem: TypeProblem) -> str:
    actual = problem.actual[0]
    value = "gives nothing" if actual is VOID else f"{_is(actual)}"
    # a forward formula may omit the tangent, but do not advise that
    expected = [type.arguments[0] if type.head == "optional" else type for type in problem.expected]
    return f"the formula {value}, expected {_all(expected)}"


_FACTS: dict[TypeProblemKind, Callable[[TypeProblem], str]] = {
    TypeProblemKind.UNDECLARED_NAME: lambda p: f"{quoted(p.name)} is not declared",
    TypeProblemKind.UNDECLARED_FUNCTION: lambda p: f"no function {quoted(p.name)} is declared",
    TypeProblemKind.NOT_IN_NAMESPACE: lambda p: (
        _no_member(p, quoted(p.owner)) if p.owner else f"there is no namespace {quoted(p.name)}"
    ),
    TypeProblemKind.NOT_A_TYPE: lambda p: f"{quoted(p.name)} is not a type",
    TypeProblemKind.NO_SUCH_MEMBER: lambda p: _no_member(p, shown(p.object or UNKNOWN)),
    TypeProblemKind.MEMBER_OF_OPTIONAL: lambda p: (
        f"{quoted(p.name)} is accessed on {shown(p.object or UNKNOWN)}, which may be empty"
    ),
    TypeProblemKind.WRONG_ACCESS: lambda p: f"{quoted(p.name)} cannot be used on {shown(p.object or UNKNOWN)}",
    TypeProblemKind.NOT_CALLED: lambda p: (
        f"{quoted(p.name)} is {'a type, not a value' if p.expected else 'a function and is not called'}"
    ),
    TypeProblemKind.NOT_CALLABLE: lambda p: (
        f"{quoted(p.subject) if p.subject else 'the value'} {_is(p.actual[0])} and cannot be called"
    ),
    TypeProblemKind.ARGUMENT_COUNT: _count,
    TypeProblemKind.ARGUMENT_TYPE: _argument,
    TypeProblemKind.NO_OVERLOAD: lambda p: f"no overload of {quoted(p.name)} takes ({', '.join(map(str, p.actual))})",
    TypeProblemKind.MISSING_SYMINT: lambda p: f"{quoted(p.name)} does not take symbolic sizes",
    TypeProblemKind.SUPERFLUOUS_SYMINT: lambda p: (
        f"{quoted(p.name)} takes symbolic sizes, and these are plain integers"
        if p.actual
        else f"there is no {quoted(p.name)}: {quoted(p.alternative or '')} has no form for symbolic sizes"
    ),
    TypeProblemKind.AMBIGUOUS_CALL: lambda p: (
        f"the call of {quoted(p.name)} is ambiguous: {len(p.candidates)} overloads match equally well"
    ),
    TypeProblemKind.AMBIGUOUS_NAME: lambda p: f"{quoted(p.name)} is a function of one namespace and a type of another",
    TypeProblemKind.OPERANDS: _operands,
    TypeProblemKind.CONDITION: lambda p: f"{shown(p.actual[0])} cannot be used as a condition",
    TypeProblemKind.BRANCHES: lambda p: f"the branches have no common type: {_all(p.actual, 'and')}",
    TypeProblemKind.NOT_INDEXABLE: lambda p: (
        f"{shown(p.object or UNKNOWN)} takes no index of type {shown(p.actual[0])}"
    ),
    TypeProblemKind.NEGATIVE_INDEX: lambda p: f'"[{p.name}]" is before the first element: C++ counts from the start',
    TypeProblemKind.ELEMENT_INDEX: lambda p: (
        f"{quoted(p.name)} is a part of a tensor, not of a list"
        if p.object is TENSOR
        else f'{quoted(p.name)} is not the element "i" that a foreach formula is evaluated for'
    ),
    TypeProblemKind.TUPLE_INDEX: _tuple_index,
    TypeProblemKind.CONSTRUCTION: lambda p: (
        f"{quoted(p.name)} cannot be constructed from {_all(p.actual, 'and') or 'nothing'}"
    ),
    TypeProblemKind.MISPLACED_BRACES: lambda p: "a braced list is not allowed here: its type is unknown",
    TypeProblemKind.NOT_ASSIGNABLE: lambda p: (
        '"&" takes the address of a temporary value'
        if p.name == "&"
        else f"{quoted(p.name)} changes a value that cannot be changed"
    ),
    TypeProblemKind.RESULT: _result,
    TypeProblemKind.INTEGER_DIVISION: lambda p: "integer division discards the fractional part",
    TypeProblemKind.INTEGER_BASE: lambda p: "the power of an integer and an integer tensor is an integer",
    TypeProblemKind.DEPRECATED: lambda p: f"{quoted(p.name)} is deprecated",
}


def _near(problem: TypeProblem) -> str | None:
    return did_you_mean(problem.name, problem.visible_names)


def _function_cure(problem: TypeProblem) -> str | None:
    alternative = problem.alternative
    if alternative is None:
        return _near(problem) or (
            f"declare {quoted(problem.name)} in FunctionsManual.h or in a header named with --headers, or the operator "
            "in native_functions.yaml"
        )
    if alternative.startswith("."):
        return f'it is a method: write "x{alternative}()"'
    return f"write {quoted(alternative)}: unqualified names are looked up there only for tensor arguments"


def _namespace_cure(problem: TypeProblem) -> str | None:
    if problem.subject:
        return f"write {quoted(problem.subject)} without {quoted(problem.owner + '::')} before it"
    if problem.alternative == problem.name and not problem.owner:
        return f'write {quoted(problem.name)} without "::" before it: operators are called in the generated namespace'
    declare = f"declare {quoted(problem.name)} in a header named with --headers"
    return f"write {quoted(problem.alternative)}" if problem.alternative else _near(problem) or declare


def _member_cure(problem: TypeProblem) -> str | None:
    if problem.subject:
        return f"write {quoted(problem.subject)} by itself"
    near = _near(problem)
    if near is not None:
        return near
    if problem.object is not TENSOR:
        return f"call {quoted(problem.name)} on a tensor" if problem.alternative is not None else None
    if problem.alternative is not None:
        return f'it is a function: write "{problem.alternative}(x)"'
    return 'methods are the functions with "variants: method" in native_functions.yaml: add it there'


def _argument_cure(problem: TypeProblem) -> str | None:
    actual = problem.actual[problem.argument or 0]
    if actual.head == "optional" and actual.arguments[0] in problem.expected:
        return 'append ".value()", guarded by ".has_value()"'
    if actual is TENSOR and all(function.signature.startswith(_NUMBERS) for function in problem.candidates):
        return f'this function takes numbers; for tensors use "at::{problem.name}" or the method "{problem.name}"'
    return signatures(problem.candidates)


def _operands_cure(problem: TypeProblem) -> str | None:
    if problem.name in _OF_ELEMENTS and any("Tensor" in type.text for type in problem.actual):
        return f'write "{_OF_ELEMENTS[problem.name]}", which works on the elements of tensors'
    if problem.name in _OF_ELEMENTS:
        return f'{quoted(problem.name)} gives true or false in C++; choose a value with "condition ? a : b"'
    return "convert one operand" if len(problem.actual) == 2 else "convert the operand"


def _result_cure(problem: TypeProblem) -> str | None:
    actual, expected = problem.actual[0], problem.expected[0] if problem.expected else UNKNOWN
    if actual is VOID:
        return "call a function that returns the value"
    if expected.head == "tuple":
        return "return a tuple with a value for each name of the key, in their order"
    if actual.head == "tuple":
        return 'take one of its elements: "std::get<0>(...)"'
    return None


#: A full stop, except in abbreviations such as "e.g.".
_SENTENCE_END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)\.\s+")


def _advice(text: str) -> str | None:
    """The sentence of a deprecation message that names the replacement; None if absent or too long."""
    sentences = [sentence.strip().rstrip(".") for sentence in _SENTENCE_END.split(text)]
    advice = next((sentence for sentence in sentences if "use " in sentence.lower()), None)
    return advice[0].lower() + advice[1:] if advice is not None and len(advice) <= LONG else None


_CURES: dict[TypeProblemKind, Callable[[TypeProblem], str | None]] = {
    TypeProblemKind.UNDECLARED_NAME: _near,
    TypeProblemKind.UNDECLARED_FUNCTION: _function_cure,
    TypeProblemKind.NOT_IN_NAMESPACE: _namespace_cure,
    TypeProblemKind.NO_SUCH_MEMBER: _member_cure,
    TypeProblemKind.MEMBER_OF_OPTIONAL: lambda p: f'write "->{p.name}", guarded by ".has_value()"',
    TypeProblemKind.WRONG_ACCESS: lambda p: 'write "."' if p.name == "->" else 'write "->"',
    TypeProblemKind.NOT_A_TYPE: _near,
    TypeProblemKind.NOT_CALLED: lambda p: f'write "{p.name}()"' + (", which makes a value of it" if p.expected else ""),
    TypeProblemKind.NOT_CALLABLE: lambda p: "remove the parentheses after it",
    TypeProblemKind.ARGUMENT_COUNT: lambda p: signatures(p.candidates),
    TypeProblemKind.ARGUMENT_TYPE: _argument_cure,
    TypeProblemKind.OPERANDS: _operands_cure,
    TypeProblemKind.CONDITION: lambda p: (
        'test ".defined()" of a tensor that may be undefined; choose by elements with "at::where"'
        if "Tensor" in p.actual[0].text
        else 'compare the value, as in "x != 0"'
    ),
    TypeProblemKind.NO_OVERLOAD: lambda p: signatures(p.candidates),
    TypeProblemKind.AMBIGUOUS_CALL: lambda p: signatures(p.candidates),
    TypeProblemKind.MISSING_SYMINT: lambda p: f"call {quoted(p.alternative or '')}",
    TypeProblemKind.SUPERFLUOUS_SYMINT: lambda p: f"call {quoted(p.alternative or '')}",
    TypeProblemKind.MISPLACED_BRACES: lambda p: "name the type before the braces",
    TypeProblemKind.INTEGER_DIVISION: lambda p: 'write one operand as a "double", such as "2.0"',
    TypeProblemKind.INTEGER_BASE: lambda p: 'write the base as a "double", such as "2.0"',
    TypeProblemKind.BRANCHES: lambda p: "convert one branch to the type of the other",
    TypeProblemKind.NOT_INDEXABLE: lambda p: "index it with an integer",
    TypeProblemKind.NEGATIVE_INDEX: lambda p: 'the last element is ".back()"' if p.name == "-1" else None,
    TypeProblemKind.ELEMENT_INDEX: lambda p: f"write {quoted(p.alternative or '')}",
    TypeProblemKind.TUPLE_INDEX: lambda p: None if p.name else 'remove "std::get"',
    TypeProblemKind.CONSTRUCTION: lambda p: f"pass arguments that a constructor of {quoted(p.name)} takes",
    TypeProblemKind.NOT_ASSIGNABLE: lambda p: "write an expression that returns a new value",
    TypeProblemKind.RESULT: _result_cure,
    TypeProblemKind.DEPRECATED: lambda p: _advice(p.alternative or ""),
    TypeProblemKind.AMBIGUOUS_NAME: lambda p: f'write "at::{p.name}" for the function',
}


def type_finding(
    problem: FormulaProblem,
    fix: Fix | tuple[Fix, ...] | None = None,
    confidence: Confidence | None = None,
    help: str | None = None,
    message: str | None = None,
) -> Finding:
    """Make a finding about a C++ error in a formula.

    Args:
        problem: the C++ error.
        fix: the fix, or alternative fixes.
        confidence: the confidence, by default that of the rule.
        help: the cure, by default that of the problem.
        message: the fact, by default that of the problem.
    """
    # an automatic formula relies on the backward formula
    premise = (problem.written.entry.operator or "",) if problem.written.auto is not None else ()
    return Finding(
        problem.where,
        message or fact(problem.problem),
        help=help or cure(problem.problem),
        fix=fix,
        at=problem.written,
        confidence=confidence,
        rests_on=premise,
    )
