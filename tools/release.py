"""``python -m tools.release``: bundles the facts of a PyTorch release and reports its changes."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from derivlint.cli.shared.terminal import write, write_names
from derivlint.lint.wording import counted
from derivlint.model import Model, build_model
from derivlint.operators.records import Release
from derivlint.operators.sources import SourceProblem, TorchSource
from derivlint.project.errors import InputError
from derivlint.source import SourceError, SourceFile, visible
from tools.bundling import BundleError
from tools.index import described, torch_source
from tools.running import Tool, write_atomically

Index = Mapping[str, Any]
#: The folder of bundled facts in the repository.
DATA = Path("src/derivlint/operators/data")
#: The folder of the index of the default release, and the prefix of its name.
SCHEMA_DATA = Path("src/derivlint/schema/data")
INDEX = "index-"


@click.command(cls=Tool)
@click.argument("source", metavar="installed|PATH")
@click.option("--dry-run", is_flag=True, help="Write nothing.")
@click.option("--quick", is_flag=True, help="Skip the tests and the compiler.")
@click.option(
    "--root",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("."),
    help="Use this checkout of derivlint.",
)
def release(source: str, dry_run: bool, quick: bool, root: Path) -> None:
    """Bundle the facts of a release and report its changes since the previous one.

    The release is the installed torch, a wheel (packed or unpacked), or a checkout. Its facts replace the bundled
    ones of the same release. The report lists new and removed operators, entries and helpers; changed lists of the
    generators; new entries that cannot be compared; findings of "derivlint check" in its derivatives.yaml; vanished
    expected findings of "derivlint verify"; and definitions of operators that no bundled release has.

    Of the release only torchgen is run, by the conformance tests; the compiler reads the emitted C++ with its headers.
    --quick skips both.
    """
    from derivlint.operators.book import release_number
    from tools.bundling import bundled_files

    torch = torch_source(source)
    index = _index_of(torch)
    number = release_number(index["version"])
    if number is None:
        raise InputError(f'"{index["version"]}" is not a release of PyTorch')
    indexes = {**_bundled(), number: index}
    earlier = max((other_number for other_number in indexes if other_number < number), default=None)
    write_names([f"PyTorch {index['version']}" + (f", against {indexes[earlier]['version']}" if earlier else "")])
    if earlier is not None:
        write_names(list(_changes(indexes[earlier], index)))
    derivatives = torch.derivatives
    if derivatives is not None:
        model = _model(derivatives, index)
        write_names(list(_judged(model, indexes[earlier] if earlier else {})))
        write_names(list(_vanished(model)))
        if not quick:
            write_names(list(_checked(torch, model, root)))
    write_names(list(_unknown(indexes.values())))
    try:
        files = bundled_files(list(indexes.values()))
    except BundleError as error:
        raise InputError(str(error)) from error
    if not (root / DATA).is_dir():
        raise InputError(f'"{root / DATA}" is not there: name the repository with --root')
    places = {root / (SCHEMA_DATA if name.startswith(INDEX) else DATA) / name: data for name, data in files.items()}
    changed = {path: data for path, data in places.items() if not path.is_file() or path.read_bytes() != data}
    if not changed:
        write_names(["the bundled facts are those of this release"])
    for path, data in changed.items():
        if dry_run:
            write(f"would write {visible(str(path))}: {len(data):,} bytes\n")
        else:
            write_atomically(path, data)
            write(f"wrote {visible(str(path))}: {len(data):,} bytes\n")


def _index_of(torch: TorchSource) -> dict[str, Any]:
    """Build the index of a release, as JSON.

    Raises:
        InputError: a file of the release is missing or unreadable, or its version is unknown.
    """
    from derivlint.operators.extraction import extract

    try:
        manual, entries, version = torch.functions_manual, torch.derivatives, torch.version
        if version is None:
            raise InputError(f'the PyTorch release of "{torch.path}" is unknown')
        headers = [] if manual is None else [manual]
        extraction = extract(torch.generators)
        data, _ = described([torch.native_functions], torch.tags, headers, entries, version, extraction)
    except (SourceError, SourceProblem) as error:
        raise InputError(str(error)) from error
    index: dict[str, Any] = json.loads(data)
    return index


def _bundled() -> dict[Release, dict[str, Any]]:
    """Return the indexes of all bundled releases, with the lists of their generators."""
    from derivlint.operators.book import release_number
    from tools.bundling import bundled_indexes

    indexes = {}
    for index in bundled_indexes():
        number = release_number(index["version"])
        assert number is not None, "it is bundled"
        indexes[number] = index
    return indexes


def _names(index: Index) -> frozenset[str]:
    return frozenset(text.partition("(")[0] for text, *_ in index["functions"])


def _helpers(index: Index) -> frozenset[str]:
    from derivlint.cpp.library import HELPERS

    declared: Mapping[str, Any] = (index.get("declarations") or {}).get("functions", {})
    return frozenset(declared.get(HELPERS, {}))


def _changes(before: Index, after: Index) -> Iterator[str]:
    """Report the differences from the previous release."""
    from derivlint.operators.reference.definitions import definitions

    yield from _difference("operator", _names(before), _names(after))
    yield from _difference("entry", frozenset(before["derivatives"] or ()), frozenset(after["derivatives"] or ()))
    yield from _difference("helper", _helpers(before), _helpers(after))
    undefined = sorted((_helpers(after) - _helpers(before)) - definitions().keys())
    if undefined:
        yield f"  without a reference definition: {', '.join(undefined)}"
    for topic, names in sorted((after["generator_lists"] or {}).items()):
        names_before = frozenset((before["generator_lists"] or {}).get(topic, ()))
        yield from _difference(f'"{topic}" name', names_before, frozenset(names))


def _difference(noun: str, before: frozenset[str], after: frozenset[str]) -> Iterator[str]:
    for verb, names in (("new", after - before), ("gone", before - after)):
        if names:
            plural = noun.removesuffix("y") + "ies" if noun.endswith("y") else f"{noun}s"
            yield f"{counted(len(names), noun, plural)} {verb}: {', '.join(sorted(names))}"


def _judged(model: Model, before: Index) -> Iterator[str]:
    """Report the coverage of the release's derivatives.yaml, its new entries, and the findings in it."""
    from derivlint.analysis.judged import Question, judged_entries, totals
    from derivlint.lint import Severity, run_rules
    from derivlint.rules import load_rules

    earlier = frozenset(before.get("derivatives") or ())
    rows = list(judged_entries(model))
    for question, (judged, total) in totals(rows).items():
        yield f"{question.value} judged of {judged} of {total} entries"
    for row in rows:
        reasons = row.missing(Question.VALUE)
        if row.entry.operator not in earlier and reasons:
            yield f"  new and not compared: {row.entry.operator}: {reasons[0]}"
    findings = run_rules(model, load_rules()).diagnostics
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    yield f"check finds {counted(len(findings), 'problem')}, {len(errors)} of them errors"


def _vanished(model: Model) -> Iterator[str]:
    """Report known findings of verify about formulas that the release no longer has."""
    from derivlint.verify.known import known_findings
    from tools.release_checks import vanished_findings

    for operator, key, rule in vanished_findings(model, known_findings()):
        yield f"known finding of verify vanished: {operator}, {key}, {rule}"


def _checked(torch: TorchSource, model: Model, root: Path) -> Iterator[str]:
    """Run the conformance tests with the release's torchgen, and compile its emitted C++."""
    from tools.release_checks import conformance_line, emission_lines, unpacked

    try:
        with unpacked(torch) as folder:
            yield conformance_line(folder, root)
            yield from emission_lines(model, folder)
    except SourceProblem as error:
        raise InputError(str(error)) from error


def _model(source: SourceFile, index: Index) -> Model:
    from derivlint.schema.index import natives_of

    return build_model(source, natives_of(index, "the release"))


def _unknown(indexes: Collection[Index]) -> Iterator[str]:
    """Report reference definitions of operators and helpers that no release has."""
    from derivlint.operators.reference.definitions import DefinitionKind, definitions

    operators = {name.partition(".")[0] for index in indexes for name in _names(index)}
    operators |= {name for index in indexes for name in _helpers(index)}
    defined = (name for name, definition in definitions().items() if definition.kind is not DefinitionKind.PART)
    unknown = sorted(name for name in defined if name.partition(".")[0] not in operators)
    if unknown:
        yield f"defined, and in no bundled release: {', '.join(unknown)}"


if __name__ == "__main__":
    release()
