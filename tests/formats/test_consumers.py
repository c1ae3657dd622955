"""Each format as its consumer reads it: parsers and models that refuse what the consumer would refuse."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Set
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derivlint.formats.machine.ci import escape_message, escape_property
from derivlint.formats.registry import FORMATS
from derivlint.lint import INTERNAL_ERROR, Severity, TextEdit
from derivlint.source import SourceFile, Span, visible
from tests.formats.reports import CLEAN, FOUND, ODD_MESSAGE, PATH, SOURCE, TEXT, diagnostic, empty, report, span

#: What is hard to escape, in any order.
ODD_TEXT = st.text(st.sampled_from("a%25:,\n\r\"'<&>]\t\x00\x1b\ufffe\ud800é😀\u2028[]()"), max_size=15)


def keys(value: dict[str, Any], required: set[str], optional: Set[str] = frozenset()) -> None:
    """Refuse an object that lacks a key or has one that no one reads."""
    assert required <= value.keys()
    assert value.keys() <= required | optional


# GitHub: how the runner reads a line, from actions/toolkit and the runner's own parser


def parse_command(line: str) -> tuple[str, dict[str, str], str]:
    match = re.fullmatch(r"::([a-z-]+)(?: (.*?))?::(.*)", line)
    assert match is not None
    command, listed, message = match.groups()
    properties = {}
    for item in (listed or "").split(","):
        name, equals, value = item.partition("=")
        assert equals
        assert value, "empty properties are left out"
        for escaped, char in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
            value = value.replace(escaped, char)
        properties[name] = value
    for escaped, char in (("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        message = message.replace(escaped, char)
    return command, properties, message


def test_github_reads_places_and_messages_back() -> None:
    commands = [parse_command(line) for line in FORMATS["github"].render(report()).splitlines()]
    assert [command for command, _, _ in commands] == ["error", "warning", "warning", "notice"]
    _, properties, message = commands[0]
    assert properties == {
        "file": PATH,
        "line": "3",
        "endLine": "3",
        "col": "18",
        "endColumn": "28",
        "title": "derivlint (odd-rule)",
    }
    assert message == f"{ODD_MESSAGE} (sin: self)\nhelp: take this, or: that"
    # columns of a range over two lines make the runner refuse the command
    assert commands[1][1].keys() == {"file", "line", "endLine", "title"}
    assert (commands[1][1]["line"], commands[1][1]["endLine"]) == ("4", "5")


@given(ODD_TEXT, ODD_TEXT)
def test_github_reads_any_text_back(name: str, message: str) -> None:
    line = f"::error title=x{escape_property(name)}::{escape_message(message)}"
    assert not set(line) & {"\n", "\r"}
    assert parse_command(line) == ("error", {"title": f"x{shown(name)}"}, shown(message))


def shown(text: str) -> str:
    """A text with its line ends, and with escapes for everything else that is not visible."""
    return "".join(part if part in ("\r", "\n") else visible(part) for part in re.split("([\r\n])", text))


def test_github_shows_the_worst_first_and_tells_what_it_leaves_out() -> None:
    found = [diagnostic(Span(0, 1), message=f"info {number}", severity=Severity.INFO) for number in range(12)]
    found += [diagnostic(Span(0, 1), message=f"error {number}") for number in range(11)]
    lines = FORMATS["github"].render(report(*found)).splitlines()
    assert [line.partition("::")[2].partition(" ")[0] for line in lines] == ["error"] * 11 + ["notice"] * 13
    # 1 error, 2 notices, and the notice that this one takes the place of
    assert lines[11] == (
        "::notice title=derivlint::4 more findings in the log of this step, which GitHub does not show here"
    )


# SARIF: the objects of the schema that are used, closed as the schema has them, and what code scanning wants


class Sarif:
    """Walks a document and refuses what the schema or code scanning refuse."""

    def __init__(self, document: dict[str, Any]) -> None:
        keys(document, {"$schema", "version", "runs"})
        assert document["version"] == "2.1.0"
        (self.run,) = document["runs"]
        keys(self.run, {"tool", "results", "invocations", "columnKind"})
        assert self.run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
        keys(self.run["tool"], {"driver"})
        driver = self.run["tool"]["driver"]
        keys(driver, {"name", "semanticVersion", "informationUri", "rules"})
        self.rules = driver["rules"]
        assert len({rule["id"] for rule in self.rules}) == len(self.rules)
        for rule in self.rules:
            self.rule(rule)
        for invocation in self.run["invocations"]:
            keys(invocation, {"executionSuccessful"}, {"toolExecutionNotifications"})
            for notification in invocation.get("toolExecutionNotifications", []):
                keys(notification, {"message", "level"})
                self.message(notification["message"])
        for result in self.run["results"]:
            self.result(result)

    def text(self, value: object, longest: int = 10**6) -> None:
        assert isinstance(value, str)
        assert 0 < len(value) <= longest

    def message(self, value: dict[str, Any]) -> None:
        keys(value, {"text"}, {"markdown"})
        self.text(value["text"])

    def level(self, value: object) -> None:
        assert value in ("none", "note", "warning", "error")

    def rule(self, value: dict[str, Any]) -> None:
        required = {"id", "name", "shortDescription", "fullDescription", "help", "helpUri", "properties"}
        keys(value, required, {"defaultConfiguration"})
        self.text(value["name"], 255)
        for name in ("shortDescription", "fullDescription"):
            keys(value[name], {"text"})
            self.text(value[name]["text"], 1024)
        self.message(value["help"])
        assert re.fullmatch(r"https://[!-~]+", value["helpUri"])
        keys(value["properties"], {"tags", "precision"}, {"problem.severity"})
        assert value["properties"]["precision"] in ("very-high", "high", "medium", "low")
        assert value["properties"].get("problem.severity") in (None, "error", "warning", "recommendation")
        assert 0 < len(value["properties"]["tags"]) <= 10
        if "defaultConfiguration" in value:
            keys(value["defaultConfiguration"], {"level"})
            self.level(value["defaultConfiguration"]["level"])

    def result(self, value: dict[str, Any]) -> None:
        required = {"ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints"}
        keys(value, required, {"relatedLocations", "fixes"})
        assert self.rules[value["ruleIndex"]]["id"] == value["ruleId"]
        self.level(value["level"])
        self.message(value["message"])
        # upload-sarif computes this one itself and warns where another is there
        assert "primaryLocationLineHash" not in value["partialFingerprints"]
        for fingerprint in value["partialFingerprints"].values():
            self.text(fingerprint)
        (location,) = value["locations"]
        keys(location, {"physicalLocation"}, {"logicalLocations"})
        keys(location["physicalLocation"], {"artifactLocation", "region"})
        self.physical(location["physicalLocation"])
        for number, related in enumerate(value.get("relatedLocations", []), 1):
            keys(related, {"id", "physicalLocation", "message"})
            assert related["id"] == number
            self.physical(related["physicalLocation"])
            self.message(related["message"])
        for fix in value.get("fixes", []):
            keys(fix, {"description", "artifactChanges"}, {"properties"})
            self.message(fix["description"])
            assert fix["artifactChanges"]
            for change in fix["artifactChanges"]:
                keys(change, {"artifactLocation", "replacements"})
                self.artifact(change["artifactLocation"])
                assert change["replacements"]
                for replacement in change["replacements"]:
                    keys(replacement, {"deletedRegion", "insertedContent"})
                    self.region(replacement["deletedRegion"])
                    keys(replacement["insertedContent"], {"text"})

    def physical(self, value: dict[str, Any]) -> None:
        keys(value, {"artifactLocation"}, {"region"})
        self.artifact(value["artifactLocation"])
        if "region" in value:
            self.region(value["region"])

    def artifact(self, value: dict[str, Any]) -> None:
        keys(value, {"uri"})
        assert re.fullmatch(r"(?:[A-Za-z0-9._~/-]|%[0-9A-F]{2}|^file://)+", value["uri"])
        assert not value["uri"].startswith("./")

    def region(self, value: dict[str, Any]) -> None:
        keys(value, {"startLine", "startColumn", "endLine", "endColumn"})
        assert all(isinstance(number, int) and number >= 1 for number in value.values())
        assert (value["startLine"], value["startColumn"]) <= (value["endLine"], value["endColumn"])


def text_of_region(source: SourceFile, region: dict[str, int]) -> str:
    starts = source.line_starts
    begin = starts[region["startLine"] - 1] + region["startColumn"] - 1
    return source.text[begin : starts[region["endLine"] - 1] + region["endColumn"] - 1]


def test_sarif_is_what_code_scanning_takes() -> None:
    sarif = Sarif(json.loads(FORMATS["sarif"].render(report())))
    regions = [result["locations"][0]["physicalLocation"]["region"] for result in sarif.run["results"]]
    assert [text_of_region(SOURCE, region) for region in regions] == [
        "",
        "self.cos()",
        '"auto_element_wise +\n    auto_linear"',
        "grad",
    ]
    assert [result["level"] for result in sarif.run["results"]] == ["note", "error", "warning", "warning"]
    assert Sarif(json.loads(FORMATS["sarif"].render(empty()))).run["results"] == []


def test_sarif_describes_a_rule_by_its_page() -> None:
    found = diagnostic(span("grad"), "missing-conjugate", severity=Severity.WARNING)
    (rule,) = Sarif(json.loads(FORMATS["sarif"].render(report(found)))).rules
    assert rule["shortDescription"]["text"] == "A factor in a backward formula is not conjugated."
    assert rule["fullDescription"]["text"].startswith("A product of the gradient and a factor that depends on")
    assert rule["help"]["markdown"].startswith("# missing-conjugate\n")
    assert rule["helpUri"].endswith("/docs/rules/missing-conjugate.md")
    assert rule["defaultConfiguration"] == {"level": "error"}
    assert rule["properties"] == {
        "precision": "high",
        "problem.severity": "error",
        "tags": ["autograd", "correctness"],
    }


def test_sarif_results_are_valid_also_where_a_file_could_not_be_read() -> None:
    sarif = Sarif(json.loads(FORMATS["sarif"].render(report(problems=('cannot read "x.yaml"',)))))
    assert sarif.run["invocations"] == [
        {
            "executionSuccessful": True,
            "toolExecutionNotifications": [{"level": "error", "message": {"text": 'cannot read "x.yaml"'}}],
        }
    ]


# reviewdog: protobuf's JSON mapping refuses unknown fields


def apply_rdjson(text: str, edit: dict[str, Any]) -> str:
    """Replace a range whose columns count bytes."""
    lines = text.encode().splitlines(keepends=True)

    def offset(position: dict[str, int]) -> int:
        return sum(map(len, lines[: position["line"] - 1])) + position["column"] - 1

    data = text.encode()
    start, end = offset(edit["range"]["start"]), offset(edit["range"]["end"])
    result: str = (data[:start] + edit["text"].encode() + data[end:]).decode()
    return result


def check_rdjson(item: dict[str, Any], more: Set[str] = frozenset()) -> None:
    keys(item, {"message", "location", "severity", "code"} | more, {"suggestions", "related_locations"})
    assert item["severity"] in ("ERROR", "WARNING", "INFO")
    keys(item["code"], {"value", "url"})
    keys(item["location"], {"path", "range"})
    ranges = [item["location"]["range"]]
    for suggestion in item.get("suggestions", []):
        keys(suggestion, {"range", "text"})
        ranges.append(suggestion["range"])
    for related in item.get("related_locations", []):
        keys(related, {"message", "location"})
        keys(related["location"], {"path"}, {"range"})
        ranges += [related["location"]["range"]] if "range" in related["location"] else []
    for found in ranges:
        keys(found, {"start", "end"})
        for position in found.values():
            keys(position, {"line", "column"})
            assert min(position.values()) >= 1


def test_reviewdog_reads_byte_columns_and_whole_fixes() -> None:
    document = json.loads(FORMATS["rdjson"].render(report()))
    keys(document, {"source", "diagnostics"})
    for item in document["diagnostics"]:
        check_rdjson(item)
    odd = document["diagnostics"][1]
    # é has two bytes and the emoji four
    assert odd["location"]["range"] == {"start": {"line": 3, "column": 22}, "end": {"line": 3, "column": 32}}
    (suggestion,) = odd["suggestions"]
    assert apply_rdjson(TEXT, suggestion) == TEXT.replace("é😀self.cos()", "self.cos().conj()")
    assert json.loads(FORMATS["rdjson"].render(empty()))["diagnostics"] == []


def test_rdjsonl_has_the_same_findings_one_a_line() -> None:
    lines = FORMATS["rdjsonl"].render(report()).split("\n")
    assert lines.pop() == ""
    items = [json.loads(line) for line in lines]
    for item in items:
        check_rdjson(item, {"source"})
    document = json.loads(FORMATS["rdjson"].render(report()))
    assert [{**item, "source": document["source"]} for item in document["diagnostics"]] == items
    assert FORMATS["rdjsonl"].render(empty()) == ""


# GitLab


def test_gitlab_has_what_it_needs_and_no_fingerprint_twice() -> None:
    twice = diagnostic(span("grad"), message="one"), diagnostic(span("grad"), message="two")
    text = FORMATS["gitlab"].render(report(*FOUND, *twice))
    assert not text.startswith("\ufeff")
    items = json.loads(text)
    assert len(items) == 6
    for item in items:
        keys(item, {"description", "check_name", "fingerprint", "severity", "location"})
        assert item["severity"] in ("info", "minor", "major", "critical", "blocker")
        keys(item["location"], {"path", "lines", "positions"})
        assert item["location"]["path"] == PATH
        assert item["location"]["lines"]["begin"] == item["location"]["positions"]["begin"]["line"]
    assert len({item["fingerprint"] for item in items}) == 6
    assert FORMATS["gitlab"].render(empty()) == "[]\n"


# JUnit


def test_junit_is_xml_with_a_test_for_each_finding_and_each_clean_file() -> None:
    root = ElementTree.fromstring(FORMATS["junit"].render(report()).encode())
    assert root.tag == "testsuites"
    assert root.attrib == {"name": "derivlint", "tests": "5", "failures": "4", "errors": "0"}
    assert [suite.get("name") for suite in root] == [PATH, CLEAN.path]
    odd = root[0][1]
    assert odd.attrib == {"name": "org.derivlint.odd-rule", "classname": PATH, "line": "3", "column": "18"}
    assert odd[0].tag == "failure"
    assert odd[0].attrib == {"message": f"{ODD_MESSAGE} (sin: self)", "type": "error"}
    assert odd[0].text == f"line 3, col 18, {ODD_MESSAGE} (sin: self)\nhelp: take this, or: that"
    (passed,) = root[1]
    assert passed.attrib == {"name": "No errors found", "classname": CLEAN.path}
    assert len(passed) == 0


def test_junit_always_has_a_test() -> None:
    root = ElementTree.fromstring(FORMATS["junit"].render(empty()))
    assert [case.get("name") for case in root.iter("testcase")] == ["No errors found"]
    nothing = ElementTree.fromstring(FORMATS["junit"].render(report_of_nothing()))
    assert [case.get("name") for case in nothing.iter("testcase")] == ["No errors found"]


def report_of_nothing() -> Any:
    from derivlint.formats import Report

    return Report((), {}, 0, 0)


def test_junit_calls_errors_of_derivlint_errors() -> None:
    root = ElementTree.fromstring(FORMATS["junit"].render(report(diagnostic(Span(0, 0), INTERNAL_ERROR))))
    assert (root.get("failures"), root.get("errors")) == ("0", "1")
    assert [case[0].tag for case in root[0]] == ["error"]


# lintrunner: serde, which refuses missing and null strings, numbers that are none, and other severities


def parse_lintrunner(line: str) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(line)
    keys(message, {"path", "line", "char", "code", "severity", "name", "description", "original", "replacement"})
    for name in ("path", "description", "original", "replacement"):
        assert message[name] is None or isinstance(message[name], str)
    for name in ("line", "char"):
        assert message[name] is None or (isinstance(message[name], int) and message[name] >= 1)
    assert message["code"] == "DERIVATIVES"
    assert message["severity"] in ("error", "warning", "advice", "disabled")
    assert re.fullmatch(r"[A-Za-z0-9_-]+", message["name"])
    # tools after lintrunner fail where there is none
    assert isinstance(message["description"], str)
    return message


def lintrunner(text: str) -> list[dict[str, Any]]:
    lines = text.split("\n")
    assert lines.pop() == ""
    return [parse_lintrunner(line) for line in lines]


def test_lintrunner_gets_absolute_paths_and_one_replacement_for_a_file() -> None:
    messages = lintrunner(FORMATS["lintrunner"].render(report()))
    assert [(message["name"], message["severity"], message["line"], message["char"]) for message in messages] == [
        ("odd-rule", "error", 3, 18),
        ("two-lines", "warning", 4, 11),
        ("end-of-file", "warning", 7, 16),
        ("fix", "warning", 3, 18),
    ]
    assert {message["path"] for message in messages} == {os.path.abspath(PATH)}
    assert [message["original"] is None for message in messages] == [True, True, True, False]
    assert messages[-1]["original"] == TEXT
    fixed = TEXT.replace("é😀self.cos()", "self.cos().conj()").replace("grad + grad", "grad + grad + é")
    assert messages[-1]["replacement"] == fixed
    assert FORMATS["lintrunner"].render(empty()) == ""


def test_lintrunner_fails_at_any_message_so_it_gets_only_what_counts() -> None:
    text = FORMATS["lintrunner"].render(report(fail_levels={PATH: Severity.ERROR}))
    assert [message["name"] for message in lintrunner(text)] == ["odd-rule", "fix"]
    text = FORMATS["lintrunner"].render(report(fail_levels={PATH: Severity.INFO}))
    assert lintrunner(text)[0]["severity"] == "advice"


def test_lintrunner_gets_no_replacement_of_what_is_no_utf_8() -> None:
    from derivlint.formats import Report

    broken = SourceFile(PATH, TEXT, undecodable=Span(0, 1))
    text = FORMATS["lintrunner"].render(Report(FOUND, {PATH: broken}, 1, 1))
    assert all(message["replacement"] is None for message in lintrunner(text))


def test_lintrunner_gets_problems_without_a_path() -> None:
    (message,) = lintrunner(FORMATS["lintrunner"].render(empty(problems=("cannot read it",))))
    assert (message["path"], message["severity"], message["description"]) == (None, "error", "cannot read it")


# every format


@pytest.mark.parametrize("name", sorted(FORMATS.keys() - {"text", "concise", "json", "json-lines"}))
@given(message=ODD_TEXT, help_text=ODD_TEXT)
def test_any_message_keeps_the_form(name: str, message: str, help_text: str) -> None:
    found = diagnostic(span("grad"), message=f"x{message}", help=help_text, related=())
    text = FORMATS[name].render(report(found))
    data = text.encode()
    if name == "github":
        (line,) = text.removesuffix("\n").split("\n")
        parse_command(line)
    elif name == "junit":
        assert len(ElementTree.fromstring(data)) == 2
    elif name == "lintrunner":
        assert len(lintrunner(text)) == 1
    elif name == "sarif":
        assert len(Sarif(json.loads(data)).run["results"]) == 1
    elif name == "rdjsonl":
        check_rdjson(json.loads(data), {"source"})
    else:
        assert len(json.loads(data)) >= 1


def test_edits_of_a_fix_are_one_edit_with_what_lies_between() -> None:
    from derivlint.formats.machine.ci import merged_edit
    from derivlint.lint import Fix

    source = SourceFile("d.yaml", "abcdef")
    fix = Fix("x", (TextEdit(Span(4, 5), "E"), TextEdit(Span(1, 2), "B")))
    assert merged_edit(source, fix) == TextEdit(Span(1, 5), "BcdE")
    assert merged_edit(source, Fix("x", ())) is None


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_names_the_operator_the_dispatch_key_and_the_key(name: str) -> None:
    item = diagnostic(span("grad"), entry="acosh", dispatch="AutogradCPU", key="result0")
    text = FORMATS[name].render(report(item))
    assert "acosh, AutogradCPU: result0" in text or all(
        f'"{field}": "{value}"' in text.replace('":"', '": "')
        for field, value in {"entry": "acosh", "dispatch": "AutogradCPU", "key": "result0"}.items()
    )
