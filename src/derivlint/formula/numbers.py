"""Whole numbers in texts of any length, which Python refuses to read beyond some thousand digits."""

from __future__ import annotations

#: What a number beyond all others is taken for.
HUGE = 10**18


def whole_number(text: str) -> int | None:
    """The value of decimal ASCII digits, None for any other text; a number from 10^18 on is 10^18.

    Args:
        text: the digits, without sign and suffix.
    """
    if not (text.isdecimal() and text.isascii()):
        return None
    digits = text.lstrip("0")
    return HUGE if len(digits) > 18 else int(digits or "0")
