"""The addresses of the documentation on the web, defined here only."""

from __future__ import annotations

#: The page of the project.
HOME = "https://github.com/derivlint/derivlint"
#: Where the pages of the rules are; a page keeps its address as long as the rule has its name.
RULE_PAGES = f"{HOME}/blob/main/docs/rules"
#: What running formulas finds, which has a page in common.
NUMERIC_PAGE = f"{HOME}/blob/main/docs/guides/verify.md"
#: Findings that come from no rule: from derivlint itself, and from the compiler.
WITHOUT_PAGE = frozenset({"internal-error", "compiler-error"})


def rule_url(name: str) -> str:
    """The page of a rule; of a finding that comes from no rule, the page that explains it or that of the project."""
    from derivlint.rules import NUMERIC

    if name in NUMERIC:
        return NUMERIC_PAGE
    return HOME if name in WITHOUT_PAGE else f"{RULE_PAGES}/{name}.md"
