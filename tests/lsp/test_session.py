"""Edits, requests, cancelled and failed checks of an open file, in any order: each check is one from scratch."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from lsprotocol import types

from derivlint.lsp.analysis import CheckedDocument, check
from derivlint.lsp.code_actions import actions, fixed
from derivlint.lsp.features import describe, hover, navigation, outline, rename, tokens
from derivlint.lsp.features.completions import completion, formula_completion
from derivlint.lsp.session import OpenFile, Outcome, Session
from derivlint.lsp.workspace import Projects
from derivlint.rules import load_rules
from derivlint.source import Span
from tests.mutators.edits import edited
from tests.sampling import CAMPAIGN, sample

TEXT = """\
- name: sin(Tensor self) -> Tensor
  self: grad * self.cos().conj()
  result: auto_element_wise

- name: cos(Tensor self) -> Tensor
  self: grad * -self.sin().conj()
  result: auto_element_wise
"""
ABS = "- name: abs(Tensor self) -> Tensor\n  self: grad * self.sng()\n"
Request = Callable[[CheckedDocument, int], object]
REQUESTS: dict[str, Request] = {
    "hover": lambda checked, offset: hover.hover(checked.analysis, offset),
    "generated code": lambda checked, offset: describe.generated_code(checked.analysis, offset),
    "lenses": lambda checked, offset: describe.lenses(checked.analysis),
    "symbols": lambda checked, offset: outline.document_symbols(checked.analysis),
    "definition": lambda checked, offset: navigation.definition(checked.analysis, offset),
    "references": lambda checked, offset: navigation.references(checked.analysis, offset),
    "completion": lambda checked, offset: completion.completions(checked.analysis, checked.source.text, offset),
    "hints": lambda checked, offset: tokens.inlay_hints(checked.analysis, Span(0, len(checked.source.text))),
    "tokens": lambda checked, offset: tokens.semantic_tokens(checked.analysis),
    "actions": lambda checked, offset: [*actions(checked, Span(offset, offset))],
    "signature": lambda checked, offset: formula_completion.signature_help(
        checked.analysis, checked.source.text, offset
    ),
    "folds": lambda checked, offset: outline.folds(checked.analysis),
    "rename": lambda checked, offset: rename.rename(checked.analysis, offset, "renamed"),
    "fix all": lambda checked, offset: fixed(checked),
}


async def ignored(_: OpenFile, __: Outcome) -> None:
    """What the editor is sent."""


async def checked(session: Session, file: OpenFile) -> CheckedDocument:
    found = await session.outcome(file)
    assert isinstance(found, CheckedDocument), found
    return found


def change(session: Session, file: OpenFile, text: str) -> None:
    file.document.change(file.document.version + 1, [types.TextDocumentContentChangeWholeDocument(text)], "utf-16")
    session.cancel_check(file)


async def is_right(session: Session, file: OpenFile) -> None:
    """The check of the present text is one from scratch."""
    found = await checked(session, file)
    assert found.shown == check(found.source, found.project).shown


@pytest.mark.parametrize("request_name", sample(REQUESTS, 3))
async def test_after_a_request_the_next_edit_is_checked(request_name: str, tmp_path: Path) -> None:
    session = Session(Projects(), ignored, lambda message, error: None)
    file = session.open((tmp_path / "derivatives.yaml").as_uri(), 1, ABS)
    for text in (ABS, ABS + " ", ABS.replace("abs", "abss"), ABS):
        change(session, file, text)
        await session.run(file, lambda found: REQUESTS[request_name](found, min(9, len(found.source.text))))
        await is_right(session, file)
    session.shutdown()


@pytest.mark.parametrize("seed", sample(range(3), 2))
async def test_edits_between_requests_and_failures_are_checked_as_from_scratch(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)
    logged: list[str] = []

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    load_rules()
    session = Session(Projects(), ignored, lambda message, error: logged.append(message))
    text = TEXT + "\n" + ABS
    file = session.open((tmp_path / "derivatives.yaml").as_uri(), 1, text)
    for _ in range(200 if CAMPAIGN else 20):
        text = edited(text if random.random() < 0.8 else TEXT + ABS, random)
        change(session, file, text)
        match random.randrange(4):
            case 0:
                name, offset = random.choice([*REQUESTS]), random.randrange(len(text) + 1)
                await session.run(file, lambda found, name=name, at=offset: REQUESTS[name](found, at))  # type: ignore[misc]
            case 1:
                # the check begins, and an edit cancels it
                task = asyncio.get_running_loop().create_task(session.outcome(file))
                await asyncio.sleep(random.random() * 0.02)
                text = edited(text, random)
                change(session, file, text)
                await task
            case 2:
                with monkeypatch.context() as patch:
                    place = random.choice(["check.filter_findings", "check.judge_suppressions", "check.check_text"])
                    patch.setattr(f"derivlint.project.{place}", fail)
                    assert "ZeroDivisionError" in str(await session.outcome(file))
                text += " "
                change(session, file, text)
        await is_right(session, file)
    session.shutdown()
    assert {*logged} <= {"internal error: ZeroDivisionError: "}


async def test_earlier_texts_are_freed(tmp_path: Path) -> None:
    session = Session(Projects(), ignored, lambda message, error: None)
    file = session.open((tmp_path / "derivatives.yaml").as_uri(), 1, TEXT)
    for number in range(2):
        gone = weakref.ref((await checked(session, file)).analysis.model)
        change(session, file, "# a line\n" * (number + 1) + TEXT)
        after = (await checked(session, file)).analysis.model
        # the answer of a task is freed with the task
        await asyncio.sleep(0.01)
        gc.unfreeze()
        gc.collect()
        assert gone() is None
        assert [entry.operator for entry in after.entries] == ["sin", "cos"]
    session.shutdown()
