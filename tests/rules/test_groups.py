"""Groups of rules."""

from __future__ import annotations

from typing import get_args

from derivlint.lint.option import GROUPS, Group
from derivlint.rules import EXTRA_FINDINGS, NAMES, load_rules


def test_every_rule_has_a_group() -> None:
    """No rule or finding has the name of one."""
    assert {rule.meta.group for rule in load_rules()} | {"numbers"} == set(GROUPS)
    assert not set(GROUPS) & {*NAMES, *EXTRA_FINDINGS}
    assert set(GROUPS) == set(get_args(Group))
