"""``python -m derivlint.emit.helpers``: emits the stubs for a set of object files in CMake builds."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from derivlint.emit.helpers.elf import ElfError
from derivlint.emit.helpers.stubs import machine_of, stubs_source, unresolved
from derivlint.source import visible_line


def main(arguments: list[str] | None = None) -> int:
    """Write the assembler file; return 1 if a function is not found."""
    parser = argparse.ArgumentParser(prog="python -m derivlint.emit.helpers", description=__doc__)
    parser.add_argument("--library", type=Path, required=True, help="the libtorch_cpu.so of the wheel")
    parser.add_argument("--out", type=Path, required=True, help="the assembler file")
    parser.add_argument("objects", nargs="+", type=Path)
    options = parser.parse_args(arguments)
    try:
        libraries = sorted(options.library.parent.glob("lib*.so"))
        result = unresolved(options.objects, libraries, options.library)
        text = stubs_source(result.symbols, machine_of(options.library), options.library.name)
    except ElfError as error:
        print(visible_line(f"derivlint: {error}"), file=sys.stderr)
        return 1
    if result.missing:
        print(visible_line(f"derivlint: no function {', '.join(result.missing)} in {options.library}"), file=sys.stderr)
        return 1
    options.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
