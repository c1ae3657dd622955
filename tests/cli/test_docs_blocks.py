"""Generated blocks of handwritten pages: what they are replaced by, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from derivlint.project.errors import InputError
from tests.cli.conftest import SIN, Run
from tools.blocks import MAX_LINE, TABLES, fill
from tools.tables import table

PAGE = Path("docs/page.md")
END = "<!-- end of generated -->\n"


def test_a_page_without_blocks_stays_as_it_is(here: Path) -> None:
    text = "# Title\n\nText `<!-- generated: x -->` in a line.\n\nNo line end"
    assert fill(text, PAGE, here) == text


def test_a_table_takes_the_place_of_what_was_there(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TABLES, "things", lambda: "| a |\n")
    old = f"before\n<!-- generated: things -->\nold\n\nolder\n{END}after\n"
    new = f"before\n<!-- generated: things -->\n\n| a |\n\n{END}after\n"
    assert fill(old, PAGE, here) == new
    assert fill(new, PAGE, here) == new


def test_a_command_is_run_and_shown_with_what_it_prints(here: Path) -> None:
    (here / "derivatives.yaml").write_text(SIN.replace("cos", "coss"))
    command = "derivlint check derivatives.yaml --output-format concise --quiet"
    filled = fill(f"<!-- generated: {command} -->\n{END}", PAGE, here)
    assert filled == (
        f"<!-- generated: {command} -->\n\n```console\n$ {command}\n"
        'derivatives.yaml:2:21: error: "Tensor" has no member "coss" (sin: self) [*] [undefined-member]\n'
        f"```\n\n{END}"
    )


def test_a_command_prints_the_same_wherever_it_runs(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the environment nor the place of the repository shows; long lines are cut."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("DERIVLINT_OUTPUT_FORMAT", "json")
    (here / "derivatives.yaml").write_text(SIN.replace("cos", "coss"))
    block = f"<!-- generated: derivlint check --output-format lintrunner -->\n{END}"
    line = fill(block, PAGE, here).splitlines()[4]
    assert line.startswith('{"path":"/path/to/repository/derivatives.yaml","line":2,')
    assert len(line) == MAX_LINE
    assert line.endswith("…")
    assert "\x1b" not in fill(f"<!-- generated: derivlint check --output-format text -->\n{END}", PAGE, here)


def test_the_contents_list_other_pages_with_their_first_paragraph(here: Path) -> None:
    pages = {
        "README.md": f"# Docs\n\n<!-- generated: contents -->\n{END}",
        "b.md": "# The b page\n\nWhat it is\nabout.\n\nMore.\n",
        "a.md": "# A\n\n| x |\n| - |\n",
        "guides/z.md": "# Z\n\nA guide.\n",
        "rules/README.md": "# Rules\n\n| rule |\n",
    }
    for name, text in pages.items():
        (here / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (here / "docs" / name).write_text(text)
    assert fill(pages["README.md"], Path("docs/README.md"), here) == (
        "# Docs\n\n<!-- generated: contents -->\n\n"
        "- [Z](guides/z.md): A guide.\n"
        "- [A](a.md)\n"
        "- [The b page](b.md): What it is about.\n"
        f"- [Rules](rules/README.md)\n\n{END}"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<!-- generated: settings -->\n", '"docs/page.md": the block "settings" has no end'),
        (f"<!-- generated: setings -->\n{END}", '"docs/page.md": no table is called "setings"'),
        (f"<!-- generated: rm -r / -->\n{END}", '"docs/page.md": no table is called "rm -r /"'),
        (
            f"<!-- generated: derivlint check gone.yaml -->\n{END}",
            '"docs/page.md": "derivlint check gone.yaml" fails: '
            'derivlint: cannot read "gone.yaml": No such file or directory',
        ),
    ],
)
def test_what_cannot_be_made_is_reported(here: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        fill(text, PAGE, here)
    assert caught.value.messages == (message,)


def test_a_mistake_in_a_page_is_2_and_nothing_is_written(tool: Run, here: Path) -> None:
    (here / "README.md").write_text("x\n")
    (here / "docs").mkdir()
    (here / "docs" / "page.md").write_text("<!-- generated: settings -->\n")
    outcome = tool("docs")
    assert (outcome.status, outcome.err) == (2, 'derivlint: "docs/page.md": the block "settings" has no end\n')
    assert not (here / "docs" / "rules").exists()


def test_cells_of_tables_hold_no_bare_bars() -> None:
    assert table(("a", "b"), [("x|y", ""), ("z", "|")]) == "| a | b |\n| --- | --- |\n| x\\|y |  |\n| z | \\| |\n"
