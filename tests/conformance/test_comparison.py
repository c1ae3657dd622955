"""docs/comparison.md says what torchgen does."""

from __future__ import annotations

import pytest

from tests.conformance.comparison import PAGE, page

pytestmark = [pytest.mark.torch, pytest.mark.long]


def test_the_table_of_the_comparison_is_true() -> None:
    """The numbers are those of the installed torchgen on the examples of the rules."""
    text = PAGE.read_text(encoding="utf-8")

    assert page(text) == text
