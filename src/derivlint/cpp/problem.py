"""The problems that the type checker reports; rules format them."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from derivlint.cpp.cpp_type import CppType
from derivlint.cpp.declarations.declaration import Function


class TypeProblemKind(Enum):
    """The kinds of problems."""

    #: a variable or constant that is not declared
    UNDECLARED_NAME = "undeclared-name"
    #: a function that is not declared where it is called
    UNDECLARED_FUNCTION = "undeclared-function"
    #: a qualified name that is not a member of the namespace or class
    NOT_IN_NAMESPACE = "not-in-namespace"
    #: a type name that is not a type
    NOT_A_TYPE = "not-a-type"
    #: a member that the type does not have
    NO_SUCH_MEMBER = "no-such-member"
    #: a member of the contained value, accessed on the optional
    MEMBER_OF_OPTIONAL = "member-of-optional"
    #: ``->`` on a value, or ``.`` on a pointer
    WRONG_ACCESS = "wrong-access"
    #: a function without its parentheses
    NOT_CALLED = "not-called"
    #: a call of something that is not a function
    NOT_CALLABLE = "not-callable"
    #: too few or too many arguments for every overload
    ARGUMENT_COUNT = "argument-count"
    #: one argument that fits no overload
    ARGUMENT_TYPE = "argument-type"
    #: no overload takes these arguments together
    NO_OVERLOAD = "no-overload"
    #: a call with symbolic sizes of the plain form of a function
    MISSING_SYMINT = "missing-symint"
    #: ``_symint`` on a function without that form, or with plain sizes
    SUPERFLUOUS_SYMINT = "superfluous-symint"
    AMBIGUOUS_CALL = "ambiguous-call"
    #: a bare name that is a function of one namespace and a type of another
    AMBIGUOUS_NAME = "ambiguous-name"
    #: an operator that is not defined for its operands
    OPERANDS = "operands"
    #: a condition that does not convert to bool
    CONDITION = "condition"
    #: two branches without a common type
    BRANCHES = "branches"
    #: an index into something that has no elements
    NOT_INDEXABLE = "not-indexable"
    #: a negative index into a list, which C++ does not count from its end
    NEGATIVE_INDEX = "negative-index"
    #: another index into a list than that of the element for which a foreach formula is evaluated
    ELEMENT_INDEX = "element-index"
    #: ``std::get`` beyond the end of a tuple, or on another type
    TUPLE_INDEX = "tuple-index"
    #: a cast or construction that no constructor accepts
    CONSTRUCTION = "construction"
    #: a braced list where a value is required
    MISPLACED_BRACES = "misplaced-braces"
    #: an assignment to something that is const or a temporary
    NOT_ASSIGNABLE = "not-assignable"
    #: the type of the formula is not the one that the generated code requires
    RESULT = "result"
    #: a division of integers, which truncates
    INTEGER_DIVISION = "integer-division"
    #: an integer raised to the power of a tensor, which truncates for integer tensors
    INTEGER_BASE = "integer-base"
    #: a function that is deprecated in the headers
    DEPRECATED = "deprecated"


#: The kinds that compile.
ACCEPTED = frozenset(
    {
        TypeProblemKind.NEGATIVE_INDEX,
        TypeProblemKind.ELEMENT_INDEX,
        TypeProblemKind.INTEGER_DIVISION,
        TypeProblemKind.INTEGER_BASE,
        TypeProblemKind.DEPRECATED,
    }
)


class TypeProblem(Struct, frozen=True):
    """An error of C++, or code that compiles but is probably unintended.

    Attributes:
        kind: the kind of problem.
        start: the offset of its first character in the expression.
        end: the offset after its last character.
        name: the function, member, operator or other name.
        owner: the namespace in which the name was looked up.
        object: the type in which the member was looked up.
        actual: the actual types: of the arguments, operands or branches.
        expected: the accepted types.
        candidates: the functions with that name.
        argument: the index of the blamed argument.
        parameter: the name of the parameter for the blamed argument.
        visible_names: the visible names, for suggestions.
        subject: the wrong value if it is a plain name, or the text in the file if torchgen generated the name.
        alternative: a valid alternative: ``at::pow``, or the form with or without ``_symint``.
    """

    kind: TypeProblemKind
    start: int
    end: int
    name: str = ""
    owner: str = ""
    object: CppType | None = None
    actual: tuple[CppType, ...] = ()
    expected: tuple[CppType, ...] = ()
    candidates: tuple[Function, ...] = ()
    argument: int | None = None
    parameter: str = ""
    visible_names: tuple[str, ...] = ()
    subject: str = ""
    alternative: str | None = None
