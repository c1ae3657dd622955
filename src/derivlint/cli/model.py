"""``derivlint model``."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import click

from derivlint.cli.options import source_options
from derivlint.cli.terminal import write
from derivlint.project.errors import InputError
from derivlint.project.files import derivatives_files, folder_of, read_source
from derivlint.project.operators import load_operators, operators_for
from derivlint.project.settings import SettingsOfFiles
from derivlint.source import SourceError


@click.command(short_help="Print the model of a derivatives file as JSON.")
@source_options
@click.option("--output-format", type=click.Choice(["json"]), default="json", show_default=True)
@click.option("--matched", is_flag=True, help="Add every native function with the derivatives that apply to it.")
def model(
    paths: tuple[str, ...],
    native_functions: tuple[Path, ...],
    tags: Path | None,
    headers: tuple[Path, ...],
    torch: str | None,
    config: tuple[str, ...],
    no_config: bool,
    stdin_filename: str | None,
    output_format: str,
    matched: bool,
) -> None:
    """Print the model of derivatives files as JSON, one document for each file.

    The model is torchgen's own: every DifferentiabilityInfo with its derivatives and forward derivatives.
    """
    from derivlint.formats.model_json import model_document
    from derivlint.project.check import model_of

    lookup = SettingsOfFiles(
        no_config, config, native_functions=native_functions, tags=tags, torch=torch, headers=headers
    )
    load = cache(load_operators)
    for path in derivatives_files(paths, lookup.of_folder(Path.cwd())):
        try:
            source = read_source(path, stdin_filename)
        except SourceError as error:
            raise InputError(str(error)) from error
        folder = folder_of(path, stdin_filename)
        settings = lookup.of_folder(folder)
        loaded = load(operators_for(folder, settings))
        document = model_document(model_of(source, loaded.natives, settings), matched)
        write(json.dumps(document, indent=1, ensure_ascii=False) + "\n", utf8=True)
