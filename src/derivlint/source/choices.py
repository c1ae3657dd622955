"""Enumerations whose members are keys of dictionaries and items of sets many times over."""

from __future__ import annotations

from enum import Enum


class Choice(Enum):
    """An enumeration with the hash of every object: that of ``Enum`` is a function of Python, called at each lookup."""

    __hash__ = object.__hash__
