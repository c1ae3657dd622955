"""What must hold of the formats: each can be parsed by who reads it, and its places lie in the files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any
from xml.etree import ElementTree

from jsonschema import Draft7Validator

from derivlint.formats.machine.json_format import findings_schema
from derivlint.source import SourceFile
from fuzz.oracle import unstyled
from fuzz.target import Violation, require

#: The files of a case by their names, as far as diagnostics may point into them.
Sources = Mapping[str, SourceFile]

_CONCISE = re.compile(r"[^\n]*:\d+:\d+: (error|warning|note|info): [^\n]* \[[\w-]+\]")
_GITHUB = re.compile(r"::(error|warning|notice) [^\n]*?::[^\n]*")


def check_format(name: str, text: str, sources: Sources) -> None:
    """Expect a text in a format of ``derivlint check``.

    Raises:
        Violation: it is none.
    """
    checker = _CHECKERS.get(name)
    if checker is None:
        return
    try:
        checker(text, sources)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, ElementTree.ParseError) as error:
        raise Violation(f"output that is not {name}", f"{type(error).__name__}: {error}\n{text[:500]}") from error


def strict_json(text: str) -> Any:
    """A document of JSON as strict readers take it: without NaN.

    Raises:
        ValueError: it is none.
    """
    return json.loads(text, parse_constant=_refused)


def _refused(constant: str) -> Any:
    raise ValueError(f"the constant {constant}")


def strict_documents(text: str) -> list[Any]:
    """Documents of JSON one after the other, as ``derivlint model`` prints one for each file.

    Raises:
        ValueError: it is something else.
    """
    decoder = json.JSONDecoder(parse_constant=_refused)
    found = []
    while text := text.lstrip():
        document, end = decoder.raw_decode(text)
        found.append(document)
        text = text[end:]
    return found


@cache
def _validator(definition: str | None) -> Draft7Validator:
    schema = findings_schema()
    return Draft7Validator(
        schema
        if definition is None
        else {**schema, "required": [], "properties": {}, "$ref": f"#/definitions/{definition}"}
    )


def _valid(document: Any, definition: str | None = None) -> None:
    error = next(iter(_validator(definition).iter_errors(document)), None)
    require(error is None, "JSON that the schema refuses", error and error.message)


def _finding(item: Any, sources: Sources) -> None:
    source = sources.get(item["path"])
    if source is None:
        return
    for name in ("start", "end"):
        place = item[name]
        line, column = source.position(place["offset"])
        require(0 <= place["offset"] <= len(source.text), "offset outside of the file", place)
        require((line, column) == (place["line"], place["column"]), "line and column of another offset", place)
    for edit in (item["fix"] or {"edits": []})["edits"]:
        require(0 <= edit["start"] <= edit["end"] <= len(source.text), "edit outside of the file", edit)


def _json(text: str, sources: Sources) -> None:
    document = strict_json(text)
    _valid(document)
    keys = [
        (item["path"], item["start"]["offset"], item["end"]["offset"], item["rule"]) for item in document["diagnostics"]
    ]
    require(keys == sorted(keys), "findings that are not sorted", keys)
    for item in document["diagnostics"]:
        _finding(item, sources)


def _json_lines(text: str, sources: Sources) -> None:
    for line in text.split("\n")[:-1]:
        item = strict_json(line)
        _valid(item, "finding")
        _finding(item, sources)


def _lines_of_json(text: str, sources: Sources) -> None:
    for line in text.split("\n")[:-1]:
        require(isinstance(strict_json(line), dict), "a line that is not an object", line)


def _concise(text: str, sources: Sources) -> None:
    for line in unstyled(text).split("\n")[:-1]:
        if not line.startswith(("found ", "no findings")) and not re.fullmatch(r" *[\d,]+ .*", line):
            require(_CONCISE.fullmatch(line) is not None, "a line that is not a finding", line)


def _github(text: str, sources: Sources) -> None:
    for line in text.split("\n")[:-1]:
        require(_GITHUB.fullmatch(line) is not None, "a line that is not a workflow command", line)


def _sarif(text: str, sources: Sources) -> None:
    document = strict_json(text)
    require(document["version"] == "2.1.0", "SARIF of another version")
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        require(rules[result["ruleIndex"]]["id"] == result["ruleId"], "a result of another rule", result)
        require(bool(result["message"]["text"]), "a result that says nothing", result)
        for location in (*result["locations"], *result.get("relatedLocations", [])):
            region = location["physicalLocation"].get("region")
            if region is not None:
                require(min(region.values()) >= 1, "a region before the file", region)
                begin, end = ((region[f"{side}Line"], region[f"{side}Column"]) for side in ("start", "end"))
                require(begin <= end, "a region that ends before it begins", region)


def _gitlab(text: str, sources: Sources) -> None:
    names = [item["fingerprint"] for item in strict_json(text)]
    require(len(set(names)) == len(names), "fingerprints that are not unique", names)


def _junit(text: str, sources: Sources) -> None:
    root = ElementTree.fromstring(text.encode())
    require(root.tag == "testsuites", "XML of another kind", root.tag)
    cases = root.findall("testsuite/testcase")
    require(int(root.attrib["tests"]) == len(cases), "a wrong number of tests", root.attrib)


def _rdjson(text: str, sources: Sources) -> None:
    document = strict_json(text)
    for item in document["diagnostics"]:
        require(bool(item["message"]) and bool(item["location"]["path"]), "a finding without place or message", item)


_CHECKERS: dict[str, Callable[[str, Sources], None]] = {
    "json": _json,
    "json-lines": _json_lines,
    "concise": _concise,
    "github": _github,
    "sarif": _sarif,
    "gitlab": _gitlab,
    "junit": _junit,
    "rdjson": _rdjson,
    "rdjsonl": _lines_of_json,
    "lintrunner": _lines_of_json,
}
