"""Pictures of terminals for the documentation: what a command prints, with its colors, as SVG."""

from __future__ import annotations

import shlex
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

from derivlint.cli.documentation.doc_blocks import output

#: The picture of the README, and the command that it shows.
PICTURE = Path("docs/images/check.svg")
COMMAND = (
    'derivlint check examples/derivatives.yaml --select "unknown-schema,unknown-key,missing-symint,nonlinear-gradient"'
    " --color always"
)
#: Columns of the terminal.
WIDTH = 124


def picture(root: Path) -> str:
    """The SVG of the README's command, run in the repository."""
    text = output(shlex.split(COMMAND)[1:], PICTURE, root, limit=10 * WIDTH)  # escape codes take room
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text(f"$ {COMMAND.removesuffix(' --color always')}\n", style="bold"))
    console.print(Text.from_ansi(text))
    # the identifier would be a digest of the content, which is not the same for every version of rich
    return console.export_svg(title="derivlint", unique_id="derivlint") + "\n"
