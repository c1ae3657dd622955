"""Symbols of ELF files: undefined ones of object files, exported and hidden ones of libraries.

Only 64-bit little-endian files are supported, those of Linux on x86-64 and AArch64. Nothing is executed, and every
offset of the file is checked before it is followed. pyelftools needs 5 s for the exported names of libtorch_cpu.so
alone.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Collection, Iterator
from pathlib import Path

from msgspec import Struct

from derivlint.source import open_input

EM_X86_64, EM_AARCH64 = 62, 183

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")

_SHT_SYMTAB, _SHT_DYNSYM, _SHT_NOBITS = 2, 11, 8
_SHF_EXECINSTR = 4
_SHN_UNDEF, _SHN_LORESERVE = 0, 0xFF00
_STT_OBJECT, _STT_FUNC, _STB_WEAK = 1, 2, 2
_SYMBOL_SIZE = _SYMBOL.size


class ElfError(Exception):
    """A file is not a supported ELF file, or lacks a part."""


class Section(Struct, frozen=True):
    """A section: its type, flags, address and file range."""

    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int


class LibrarySymbol(Struct, frozen=True):
    """A function or a small variable in a library.

    Attributes:
        name: the mangled name.
        address: its address relative to the load address.
        size: its size in bytes.
        code: the first bytes of a function, to verify it at run time; empty for a variable, whose value is only known
            after loading.
    """

    name: str
    address: int
    size: int
    code: bytes

    @property
    def is_function(self) -> bool:
        """Whether it is a function, not a variable."""
        return bool(self.code)


class ElfFile:
    """A memory-mapped ELF file; a context manager.

    Args:
        path: the file.

    Raises:
        ElfError: the file cannot be read or is of another kind.
    """

    #: The number of bytes of a function to compare: they distinguish functions, and the smallest one is as long.
    CODE_BYTES = 16
    #: The largest variable to look up: constants such as a pointer to a message.
    DATA_BYTES = 64
    #: The length of ``_ZN5torch8autograd9generated7details``: names with a common prefix are searched together.
    _BEGINNING = 36

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with open_input(path) as stream:
                self._data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise ElfError(f'cannot read "{path}": {getattr(error, "strerror", None) or error}') from error
        try:
            self._read_header()
        except ElfError:
            self._data.close()
            raise

    def _read_header(self) -> None:
        data = self._data
        if len(data) < _HEADER.size or data[:4] != b"\x7fELF":
            raise ElfError(f'"{self.path}" is not an ELF file')
        if data[4] != 2 or data[5] != 1:
            raise ElfError(f'"{self.path}" is not a 64-bit little-endian ELF file')
        fields = _HEADER.unpack_from(data)
        self.machine: int = fields[2]
        table, size, count = fields[6], fields[11], fields[12]
        if count and (size != _SECTION.size or table + size * count > len(data)):
            raise ElfError(f'"{self.path}" has a broken table of sections')
        self.sections = tuple(self._section(table + size * index) for index in range(count))

    def _section(self, at: int) -> Section:
        _, type_, flags, address, offset, size, link, _, _, _ = _SECTION.unpack_from(self._data, at)
        if type_ != _SHT_NOBITS and offset + size > len(self._data):
            raise ElfError(f'"{self.path}" has a section that goes beyond its end')
        return Section(type_, flags, address, offset, size, link)

    def __enter__(self) -> ElfFile:
        return self

    def __exit__(self, *exception: object) -> None:
        self._data.close()

    @property
    def has_symbol_table(self) -> bool:
        """Whether the file has a symbol table, which names hidden functions; stripped files have none."""
        return any(section.type == _SHT_SYMTAB for section in self.sections)

    def undefined(self) -> frozenset[str]:
        """The undefined symbols of an object file, except weak references."""
        return frozenset(
            self._name(names, symbol[0])
            for names, symbol in self._symbols(_SHT_SYMTAB)
            if symbol[3] == _SHN_UNDEF and symbol[0] and symbol[1] >> 4 != _STB_WEAK
        )

    def defined(self) -> frozenset[str]:
        """The symbols that an object file defines globally."""
        return frozenset(
            self._name(names, symbol[0])
            for names, symbol in self._symbols(_SHT_SYMTAB)
            if symbol[3] != _SHN_UNDEF and symbol[0] and symbol[1] >> 4
        )

    def exported(self) -> frozenset[str]:
        """The symbols that a library exports."""
        return frozenset(
            self._name(names, symbol[0])
            for names, symbol in self._symbols(_SHT_DYNSYM)
            if symbol[3] != _SHN_UNDEF and symbol[0]
        )

    def symbols(self, names: Collection[str]) -> dict[str, LibrarySymbol]:
        """The functions and small variables with given mangled names, including hidden ones.

        A name of several different symbols, such as static functions, is ambiguous and left out.
        """
        by_name: dict[str, LibrarySymbol] = {}
        ambiguous: set[str] = set()
        for section in self._tables(_SHT_SYMTAB):
            places = self._places(self.sections[section.link], names)
            table = self._data[section.offset : section.offset + section.size // _SYMBOL_SIZE * _SYMBOL_SIZE]
            for offset, info, _, index, address, size in _SYMBOL.iter_unpack(table):
                name = places.get(offset)
                if name is None or info & 15 not in (_STT_FUNC, _STT_OBJECT) or not 0 < index < _SHN_LORESERVE:
                    continue
                symbol = self._symbol(name, address, size, index, info & 15 == _STT_FUNC)
                if symbol is None or by_name.setdefault(name, symbol).address != address:
                    ambiguous.add(name)
        return {name: symbol for name, symbol in by_name.items() if name not in ambiguous}

    def _places(self, names: Section, searched: Collection[str]) -> dict[int, str]:
        """The offsets of names in a string table, where a name may be the suffix of a longer one.

        The table has tens of megabytes, and the names share long prefixes: it is searched once for each prefix.
        """
        places: dict[int, str] = {}
        end = names.offset + names.size
        decoded = {name.encode(): name for name in searched}
        for beginning in sorted({name[: self._BEGINNING] for name in decoded}):
            at = self._data.find(beginning, names.offset, end)
            while at >= 0:
                stop = self._data.find(b"\0", at, end)
                name = decoded.get(self._data[at:stop]) if stop >= 0 else None
                if name is not None:
                    places[at - names.offset] = name
                at = self._data.find(beginning, at + 1, end)
        return places

    def _symbol(self, name: str, address: int, size: int, index: int, is_function: bool) -> LibrarySymbol | None:
        """The symbol, or None if it is not in a section of its kind."""
        if index >= len(self.sections) or size == 0:
            return None
        section = self.sections[index]
        inside = section.address <= address and address + size <= section.address + section.size
        if not inside or bool(section.flags & _SHF_EXECINSTR) is not is_function:
            return None
        if not is_function:
            return LibrarySymbol(name, address, size, b"") if size <= self.DATA_BYTES else None
        start = section.offset + address - section.address
        return LibrarySymbol(name, address, size, self._data[start : start + min(size, self.CODE_BYTES)])

    def _tables(self, kind: int) -> Iterator[Section]:
        for section in self.sections:
            if section.type == kind:
                if section.link >= len(self.sections):
                    raise ElfError(f'"{self.path}" has symbols without names')
                yield section

    def _symbols(self, kind: int) -> Iterator[tuple[bytes, tuple[int, int, int, int, int, int]]]:
        for section in self._tables(kind):
            strings = self.sections[section.link]
            names = self._data[strings.offset : strings.offset + strings.size]
            table = self._data[section.offset : section.offset + section.size // _SYMBOL_SIZE * _SYMBOL_SIZE]
            for symbol in _SYMBOL.iter_unpack(table):
                yield names, symbol

    @staticmethod
    def _name(names: bytes, offset: int) -> str:
        end = names.find(b"\0", offset)
        return names[offset : end if end >= 0 else len(names)].decode("ascii", "replace")
