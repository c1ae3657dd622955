"""What a session keeps of texts that are gone."""

from __future__ import annotations

import asyncio
import weakref
from pathlib import Path

import pytest
from lsprotocol import types

from derivlint.lsp.checker import CheckedDocument
from derivlint.lsp.session import OpenFile, Outcome, Session
from derivlint.lsp.workspace import Projects

TEXT = """\
- name: sin(Tensor self) -> Tensor
  self: grad * self.cos().conj()
  result: auto_element_wise

- name: cos(Tensor self) -> Tensor
  self: grad * -self.sin().conj()
  result: auto_element_wise
"""


async def ignored(_: OpenFile, __: Outcome) -> None:
    """What the editor is sent."""


async def checked(session: Session, file: OpenFile) -> CheckedDocument:
    found = await session.outcome(file)
    assert isinstance(found, CheckedDocument), found
    return found


def inserted(line: int, text: str) -> types.TextDocumentContentChangePartial:
    place = types.Position(line, 0)
    return types.TextDocumentContentChangePartial(types.Range(place, place), text)


@pytest.mark.usefixtures("collector_off")
def test_an_earlier_text_is_freed_although_no_one_collects(tmp_path: Path) -> None:
    path = tmp_path / "derivatives.yaml"

    async def typed() -> None:
        session = Session(Projects(), ignored, lambda message, error: None)
        file = session.open(path.as_uri(), 1, TEXT)
        for version in (2, 3):
            gone = weakref.ref((await checked(session, file)).analysis.model)
            file.document.change(version, [inserted(3, "# a line\n")], "utf-16")
            session.edited(file)
            after = (await checked(session, file)).analysis.model
            for _ in range(500):
                if gone() is None:
                    break
                await asyncio.sleep(0.01)
            assert gone() is None
            assert [entry.operator for entry in after.entries] == ["sin", "cos"]
        session.shutdown()

    asyncio.run(typed())
