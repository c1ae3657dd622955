"""Source text, spans in it, and lines and columns derived from offsets; independent of YAML.

``SourceFile`` decodes a file; a ``Span`` is a range of code points. ``reading`` opens input, ``writing`` replaces files
atomically and checks that folders are private, ``visible`` escapes control characters, ``lazy`` has cached properties
and bounded caches, ``records`` base classes of records.
"""

from derivlint.source.file import Position, SourceFile, Span
from derivlint.source.reading import SourceError, open_input, read_bytes, read_input
from derivlint.source.visible import visible, visible_json, visible_line, visible_page, visible_xml
from derivlint.source.writing import (
    ChangedError,
    delete_oldest,
    is_made_by_user,
    is_own,
    locked,
    not_private,
    remove_leftovers,
    replace_file,
    write_file,
)

__all__ = [
    "ChangedError",
    "Position",
    "SourceError",
    "SourceFile",
    "Span",
    "delete_oldest",
    "is_made_by_user",
    "is_own",
    "locked",
    "not_private",
    "open_input",
    "read_bytes",
    "read_input",
    "remove_leftovers",
    "replace_file",
    "visible",
    "visible_json",
    "visible_line",
    "visible_page",
    "visible_xml",
    "write_file",
]
