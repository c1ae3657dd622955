"""``python -m tools.parser_tables``: generates the parser tables from the grammars with Lark."""

from __future__ import annotations

from derivlint.formula.parsing.builder import TreeBuilder
from derivlint.formula.parsing.grammar_tables import describe, table_json
from derivlint.formula.parsing.statements import StatementBuilder, statement_grammar
from derivlint.grammar import grammar_text, table_path
from tools.running import write_atomically


def main() -> None:
    """Write the tables of both grammars."""
    formulas = table_json(describe(grammar_text("formula"), TreeBuilder()))
    statements = table_json(describe(statement_grammar(), StatementBuilder, "function"))
    write_atomically(table_path("formula"), formulas.encode())
    write_atomically(table_path("statements"), statements.encode())


if __name__ == "__main__":
    main()
