"""The reason why a function cannot have the formulas of another."""

from __future__ import annotations

from enum import Enum


class MatchProblemKind(Enum):
    """The reason why a function cannot have the info that would apply to it."""

    #: the generated functional variant has no ``self`` to save
    FUNCTIONAL_NEEDS_SELF = "functional-needs-self"
    #: a foreach function needs the reference's ``Default`` formulas
    NO_DEFAULT_KEY = "no-default-key"
    #: an in-place function has one output
    SEVERAL_FORMULAS = "several-formulas"
    #: an in-place function's own entry asks for the value of ``self`` that is overwritten
    PRIMAL_OF_SELF = "primal-of-self"
    STRIDES_OF_SELF = "strides-of-self"
    #: of the outputs only ``result`` itself can be saved for a foreach function
    SAVED_OUTPUT = "saved-output"
    #: the saved expression does not begin with an argument of the foreach function
    SAVED_INPUT = "saved-input"
    #: a key names no argument of the foreach function
    KEY_NAME = "key-name"
    #: replacing text cuts a name in two
    BROKEN_IDENTIFIER = "broken-identifier"
    INDEXED_TWICE = "indexed-twice"
