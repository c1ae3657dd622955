"""``derivlint model``."""

from __future__ import annotations

import json
from typing import Any

import click

from derivlint.cli.shared.help import GroupedCommand
from derivlint.cli.shared.loading import load_models
from derivlint.cli.shared.options import source_options
from derivlint.cli.shared.terminal import write_json


@click.command(cls=GroupedCommand, short_help="Print the model of a derivatives file as JSON.")
@source_options
@click.option("--output-format", type=click.Choice(["json"]), default="json", show_default=True, help="Write JSON.")
@click.option("--matched", is_flag=True, help="Include every native function with the derivatives that apply to it.")
def model(
    paths: tuple[str, ...],
    no_config: bool,
    stdin_filename: str | None,
    output_format: str,
    matched: bool,
    **setting_options: Any,
) -> None:
    """Print the model of derivatives files as JSON, one document for each file.

    The model is torchgen's: one DifferentiabilityInfo per entry and dispatch key.
    """
    from derivlint.formats.machine.model_json import model_document

    for loaded in load_models(paths, stdin_filename, no_config, **setting_options):
        document = model_document(loaded.model, matched)
        write_json(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
