"""Stubs for helpers that formulas call and that PyTorch's libraries do not export."""

from derivlint.emit.helpers.elf import ElfError, ElfFile, LibrarySymbol
from derivlint.emit.helpers.stubs import Unresolved, machine_of, stubs_source, unresolved

__all__ = [
    "ElfError",
    "ElfFile",
    "LibrarySymbol",
    "Unresolved",
    "machine_of",
    "stubs_source",
    "unresolved",
]
