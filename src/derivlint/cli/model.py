"""``derivlint model``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from derivlint.cli.check import settings_for, source_options
from derivlint.cli.exits import InputError
from derivlint.cli.inputs import derivatives_files, load_operators, operators_for, read_source
from derivlint.source import SourceError


@click.command(short_help="Print the model of a derivatives file as JSON.")
@source_options
@click.option("--output-format", type=click.Choice(["json"]), default="json", show_default=True)
@click.option("--matched", is_flag=True, help="Add every native function with the derivatives that apply to it.")
def model(
    paths: tuple[str, ...],
    native_functions: tuple[Path, ...],
    tags: Path | None,
    torch: str | None,
    no_config: bool,
    stdin_filename: str | None,
    output_format: str,
    matched: bool,
) -> None:
    """Print the model of derivatives files as JSON, one document for each file.

    The model is torchgen's own: every DifferentiabilityInfo with its derivatives and forward derivatives.
    """
    from derivlint.formats.model_json import model_document
    from derivlint.model import build_model

    settings = settings_for(no_config, paths, native_functions=native_functions, tags=tags, torch=torch)
    for path in derivatives_files(paths, settings):
        try:
            source = read_source(path, stdin_filename)
        except SourceError as error:
            raise InputError(str(error)) from error
        built = build_model(source, load_operators(operators_for(path, settings)))
        json.dump(model_document(built, matched), sys.stdout, indent=1, ensure_ascii=False)
        sys.stdout.write("\n")
