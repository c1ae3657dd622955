"""Readers of one text each: formulas, schemas, headers, native functions, tags, configurations, baselines."""

from __future__ import annotations

from derivlint.cpp.declarations.declaration import declarations_from_json
from derivlint.cpp.declarations.header import read_declarations
from derivlint.formula import Node, parse_formula, walk
from derivlint.lint.baseline import BaselineError, read_baseline, render_baseline
from derivlint.project.settings import ConfigurationError
from derivlint.project.settings.document import Notes
from derivlint.project.settings.lookup import OWN_FILE, PYPROJECT, read_document, read_settings, table_of
from derivlint.schema import SchemaError, parse_schema, read_native_functions
from derivlint.source import SourceFile, visible_line
from fuzz.generators import configuration, formulas, headers, natives, schemas, stored
from fuzz.oracle import check_plain, check_span
from fuzz.target import Target, require
from fuzz.targets.workplace import workplace


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def read_formula(data: bytes) -> object:
    """A formula is a tree whose nodes lie in one another, or has a problem in the text."""
    text = _text(data)
    parsed = parse_formula(text)
    require(parsed.tree is not None or bool(parsed.problems), "a formula neither read nor refused", parsed.problems)
    for problem in parsed.problems:
        require(0 <= problem.start <= problem.end <= len(text), "problem outside of the formula", problem)
    for word in parsed.words:
        require(text[word.start : word.end] == word.text, "a word that stands elsewhere", word)
    if parsed.tree is not None:
        for node in walk(parsed.tree):
            _check_children(node)
    return [str(problem) for problem in parsed.problems], len(parsed.words)


def _check_children(node: Node) -> None:
    for child in node.children:
        inside = node.start <= child.start <= child.end <= node.end
        require(inside, "a node outside of its parent", (type(node).__name__, type(child).__name__))


def read_schema(data: bytes) -> object:
    """A schema prints as something that reads as the same."""
    try:
        parsed = parse_schema(_text(data))
    except SchemaError as error:
        return str(error)
    printed = str(parsed)
    require(str(parse_schema(printed)) == printed, "a schema that prints as another one", printed)
    return printed


def read_header(data: bytes) -> object:
    """A header has declarations, which survive being stored, and problems in the text."""
    text = _text(data)
    reading = read_declarations(text)
    for problem in reading.problems:
        require(0 <= problem.span.start <= problem.span.end <= len(text), "problem outside of the header", problem)
    stored_as = reading.declarations.to_json()
    require(declarations_from_json(stored_as).to_json() == stored_as, "declarations that are stored as others")
    return stored_as


def read_natives(data: bytes) -> object:
    """Native functions are read, and what cannot be read is a problem in the file."""
    source = SourceFile.from_bytes("native_functions.yaml", data)
    read = read_native_functions([source])
    for function in read.functions:
        read.signature_group(function)
    for problem in read.problems:
        check_span(source, problem.span, "problem of native functions")
    return [str(function.schema) for function in read.functions], [problem.message for problem in read.problems]


def read_tags(data: bytes) -> object:
    """Tags are read, and what cannot be read is a problem in the file."""
    source = SourceFile.from_bytes("tags.yaml", data)
    read = read_native_functions([], tags=source)
    for problem in read.problems:
        check_span(source, problem.span, "problem of tags")
    return sorted(read.known_tags or ())


def read_configuration(data: bytes) -> object:
    """A configuration is read, or has mistakes with places in it."""
    place = workplace()
    found = []
    for name in (OWN_FILE, PYPROJECT):
        path = place.folder / name
        path.write_bytes(data)
        notes = Notes()
        try:
            document = read_document(path, notes)
            if document is not None and table_of(document) is not None:
                read_settings(document)
        except ConfigurationError as error:
            notes.mistakes.extend(error.mistakes)
        path.unlink()
        lines = len(SourceFile.from_bytes(name, data).line_starts)
        for mistake in notes.mistakes:
            require(bool(mistake.message), "a mistake that says nothing")
            require(
                not mistake.document or 1 <= mistake.line <= lines, "a mistake outside of the configuration", mistake
            )
            found.append(str(mistake))
    return found


def read_baselines(data: bytes) -> object:
    """A baseline is read and written the same, or refused in one line."""
    try:
        read = read_baseline(_text(data))
    except BaselineError as error:
        check_plain(visible_line(str(error)), "the message about a baseline")
        return str(error)
    rendered = render_baseline(read)
    again = read_baseline(rendered)
    require(again.known == read.known, "a baseline that is written as another one", rendered)
    return rendered


TARGETS = (
    Target("formula", 2200, formulas.formula_bytes, read_formula),
    Target("schema", 1300, schemas.schema_bytes, read_schema),
    Target("header", 900, headers.header_bytes, read_header),
    Target("natives", 500, natives.file_bytes, read_natives),
    Target("tags", 200, natives.tags_bytes, read_tags),
    Target("configuration", 900, configuration.configuration_bytes, read_configuration),
    Target("baseline", 600, stored.baseline, read_baselines),
)
