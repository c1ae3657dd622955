"""The table of relations, asked with the spellings of types."""

from __future__ import annotations

from typing import Any

from derivlint.cpp.cpp_type import CppType, cpp_type
from derivlint.cpp.relations import Relations

#: Questions whose first argument is an operator or a literal.
WITH_OPERATOR = frozenset({"unary", "binary", "literal", "literal_ternary"})


class RelationsByName:
    """Takes and gives types by their spellings."""

    def __init__(self, relations: Relations) -> None:
        self._relations = relations

    def __getattr__(self, question: str) -> Any:
        ask = getattr(self._relations, question)
        given = question in WITH_OPERATOR

        def answer(*arguments: str, **options: bool) -> Any:
            found = ask(*arguments[:given], *map(cpp_type, arguments[given:]), **options)
            return found.text if isinstance(found, CppType) else found

        return answer
