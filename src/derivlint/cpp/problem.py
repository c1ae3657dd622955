"""The problems that the type checker reports: facts, for which rules have messages."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from derivlint.cpp.cpp_type import CppType
from derivlint.cpp.declarations.declaration import Function


class TypeProblemKind(Enum):
    """The kind of a problem."""

    #: a variable or constant that is not declared
    UNDECLARED_NAME = "undeclared-name"
    #: a function that is not declared where it is called
    UNDECLARED_FUNCTION = "undeclared-function"
    #: a qualified name that is not a member of the namespace or class
    NOT_IN_NAMESPACE = "not-in-namespace"
    #: something that is used as a type and is none
    NOT_A_TYPE = "not-a-type"
    #: a member that the type does not have
    NO_SUCH_MEMBER = "no-such-member"
    #: a member of the value inside of an optional, asked of the optional
    MEMBER_OF_OPTIONAL = "member-of-optional"
    #: ``->`` on a value, or ``.`` on a pointer
    WRONG_ACCESS = "wrong-access"
    #: a function without its parentheses
    NOT_CALLED = "not-called"
    #: a call of a value
    NOT_CALLABLE = "not-callable"
    #: too few or too many arguments for every overload
    ARGUMENT_COUNT = "argument-count"
    #: one argument that fits no overload
    ARGUMENT_TYPE = "argument-type"
    #: no overload takes these arguments together
    NO_OVERLOAD = "no-overload"
    #: a plain function called with symbolic sizes, although there is one for them
    MISSING_SYMINT = "missing-symint"
    #: ``_symint`` on a function that has no such form, or with sizes that are not symbolic
    SUPERFLUOUS_SYMINT = "superfluous-symint"
    AMBIGUOUS_CALL = "ambiguous-call"
    #: a bare name that is a function of one namespace and a type of another
    AMBIGUOUS_NAME = "ambiguous-name"
    #: an operator that is not defined for its operands
    OPERANDS = "operands"
    #: a condition that is neither true nor false
    CONDITION = "condition"
    #: two branches without a common type
    BRANCHES = "branches"
    #: an index into something that has no elements
    NOT_INDEXABLE = "not-indexable"
    #: ``std::get`` beyond the end of a tuple, or of something else than a tuple
    TUPLE_INDEX = "tuple-index"
    #: a cast or a constructor call that no constructor takes
    CONSTRUCTION = "construction"
    #: braces where only a value can stand
    MISPLACED_BRACES = "misplaced-braces"
    #: a change of something that cannot be changed
    NOT_ASSIGNABLE = "not-assignable"
    #: the type of the whole formula is not what the generated code needs
    RESULT = "result"
    #: integers are divided, and the rest is lost
    INTEGER_DIVISION = "integer-division"
    #: an integer is raised to the power of a tensor, and the result is an integer where the tensor is one
    INTEGER_BASE = "integer-base"
    #: a function that the headers call deprecated
    DEPRECATED = "deprecated"


#: What compiles, and is reported as a warning.
ACCEPTED = frozenset({TypeProblemKind.INTEGER_DIVISION, TypeProblemKind.INTEGER_BASE, TypeProblemKind.DEPRECATED})


class TypeProblem(Struct, frozen=True):
    """One thing that C++ refuses, or accepts although it is hardly meant.

    Attributes:
        kind: what is wrong.
        start: the offset in the expression's text where it begins.
        end: the offset after its end.
        name: the function, member, operator or name concerned.
        owner: the namespace that was asked for it.
        object: the type that was asked for it.
        actual: the types that are there: of the arguments, operands or branches.
        expected: the types that would fit.
        candidates: the functions of that name.
        argument: the position of the blamed argument among the arguments, from 0.
        parameter: the name of the parameter that the blamed argument is for.
        visible_names: names that exist where this one was looked for.
        subject: the name of the value that is wrong, where it is a plain name; or the text as it is written, where the
            name is one that torchgen made.
        alternative: a name under which the same thing does exist: ``at::pow``, or the form with or without ``_symint``.
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
