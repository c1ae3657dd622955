"""What was found in the last text of a file, kept on disk: after an edit only what it can have changed is checked.

The bytes are MessagePack under a digest. Whatever they are, what comes out has the right types, and places that lie in
the text; otherwise nothing comes out.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from msgspec import DecodeError, ValidationError, msgpack

from derivlint.lint.engine.found import Found, places_of
from derivlint.lint.engine.kept import Kept
from derivlint.project.caching.cache import read_entry, sealed, unsealed
from derivlint.source import Span, replace_file

#: What was found in the real file has 400 KB.
MAX_BYTES = 32 * 1024 * 1024


def load_kept(file: Path, path: str) -> Kept | None:
    """What a file of the cache holds; None where that is nothing that could have been kept.

    Args:
        file: the file of the cache.
        path: the path of the derivatives file that it is about.
    """
    data = read_entry(file, MAX_BYTES)
    body = unsealed(data) if data is not None else None
    if body is None:
        return None
    try:
        kept = msgpack.decode(body, type=Kept)
    except (DecodeError, ValidationError, RecursionError):
        return None
    return kept if _is_possible(kept, path) else None


def store_kept(file: Path, kept: Kept) -> None:
    """Keep what was found, where that is possible.

    Args:
        file: the file of the cache.
        kept: what was found.
    """
    try:
        data = sealed(msgpack.encode(kept))
        if len(data) <= MAX_BYTES:
            replace_file(file, data, mode=0o600, durable=False)
    except (OSError, UnicodeEncodeError):
        # half a surrogate pair, as the name of a file can have, is not UTF-8
        return


def _is_possible(kept: Kept, path: str) -> bool:
    """Whether everything fits together, as it does in what a check has kept."""
    text, bounds, count = kept.cut.text, kept.cut.bounds, len(kept.entries)
    if len(bounds) != count + 1 or bounds[0] < 0 or bounds[-1] != len(text):
        return False
    if any(first >= second for first, second in pairwise(bounds)):
        return False
    if any(not start < kept.cut.piece(at).end <= end for at, (start, end) in enumerate(pairwise(bounds))):
        return False
    if any(len(rows) != count for rows in kept.indexed.values()):
        return False
    if any(len(facts) != count for facts in kept.entry_facts.values()):
        return False
    if kept.claimed != tuple(at for at, each in enumerate(kept.entries) if each is not None and each.claims):
        return False
    if kept.file is not None and kept.file.start:
        return False
    pieces = [(each, kept.cut.piece(at)) for at, each in enumerate(kept.entries) if each is not None]
    if kept.file is not None:
        pieces.append((kept.file, Span(0, len(text))))
    return all(
        claim.diagnostic.path == path
        and all(_is_possible_place(place, found, piece, len(text)) for place in places_of(claim.diagnostic))
        for found, piece in pieces
        for claim in found.claims
    )


def _is_possible_place(place: Span, found: Found, piece: Span, length: int) -> bool:
    """Whether a place of a finding lies in the text, and in the piece of its entry where it moves with that."""
    there = place.shift(piece.start - found.start)
    return there.start <= there.end and (piece if found.is_inside else Span(0, length)).contains(there)
