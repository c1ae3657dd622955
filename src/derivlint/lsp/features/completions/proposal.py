"""What completion proposes."""

from __future__ import annotations

from msgspec import Struct

from derivlint.source import Span

#: More proposals than this are not sent; the editor asks again when more is written.
MOST = 200


class Completion(Struct, frozen=True):
    """A proposal.

    Attributes:
        label: what the list shows.
        kind: a name of the protocol's ``CompletionItemKind``.
        text: what is written.
        span: the range of the present text that it replaces.
        detail: more of it, on one line.
        sort: what proposals are sorted by.
        documentation: still more, as Markdown.
        deprecated: whether it is deprecated.
        data: what :func:`~derivlint.lsp.features.completions.formula_completion.resolve` makes the documentation of;
            else empty.
    """

    label: str
    kind: str
    text: str
    span: Span
    detail: str = ""
    sort: str = ""
    documentation: str = ""
    deprecated: bool = False
    data: str = ""


class Completions(Struct, frozen=True):
    """Proposals; where they are not complete, the editor has to ask again when more is written."""

    items: tuple[Completion, ...]
    is_complete: bool = True
