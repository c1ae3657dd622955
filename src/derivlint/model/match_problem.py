"""The reason why a function cannot have the formulas of another."""

from __future__ import annotations

from enum import Enum


class MatchProblemKind(Enum):
    """The reason why a function cannot use the info that would apply to it."""

    #: the generated functional variant has no ``self`` to save
    FUNCTIONAL_NEEDS_SELF = "functional-needs-self"
    #: a foreach function needs the reference's ``Default`` formulas
    NO_DEFAULT_KEY = "no-default-key"
    #: an in-place function has one output
    SEVERAL_FORMULAS = "several-formulas"
    #: the entry of an in-place function reads the overwritten value of ``self``
    PRIMAL_OF_SELF = "primal-of-self"
    STRIDES_OF_SELF = "strides-of-self"
    #: for a foreach function, no output other than ``result`` can be saved
    SAVED_OUTPUT = "saved-output"
    #: the saved expression does not begin with an argument of the foreach function
    SAVED_INPUT = "saved-input"
    #: a key names no argument of the foreach function
    KEY_NAME = "key-name"
    #: the textual replacement splits a name
    BROKEN_IDENTIFIER = "broken-identifier"
    INDEXED_TWICE = "indexed-twice"
