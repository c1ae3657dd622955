"""The pages under docs: links, configurations and command lines in them work, and schemas are what is shipped."""

from __future__ import annotations

import html
import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from jsonschema import Draft7Validator

from derivlint.cli.main import COMMANDS, cli
from derivlint.formats.machine.json_format import findings_schema, schema_text
from derivlint.formats.text import HOME
from derivlint.project.settings import OWN_FILE, find_settings
from derivlint.project.settings.keys import KEYS
from tests.cli.conftest import COS, SIN, Run
from tools.blocks import BEGIN, END, TABLES, pages
from tools.docs import COMMAND, FINDINGS_SCHEMA, PICTURE
from tools.tables import commands, findings_keys, settings

pytestmark = pytest.mark.long

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PAGES = [*pages(ROOT), *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "ARCHITECTURE"))]
EXAMPLE = ROOT / "examples" / "derivatives.yaml"
#: Top-level keys of configurations of other tools: lintrunner, Helix.
OF_OTHERS = {"linter", "language-server"}


def name(path: object) -> str:
    return path.relative_to(ROOT).as_posix() if isinstance(path, Path) else ""


def fences(language: str) -> Iterator[tuple[Path, str]]:
    """The fenced texts of a language in all pages, without their indentation."""
    for page in PAGES:
        for indent, text in re.findall(
            rf"^( *)```{language}\n(.*?)^ *```$", page.read_text(), re.DOTALL | re.MULTILINE
        ):
            yield page, re.sub(f"^{indent}", "", text, flags=re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*pages(ROOT), *sorted(ROOT.glob("*.md"))], ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if path.startswith(("https://", "http://")):
            continue
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", pages(ROOT), ids=name)
def test_a_page_begins_with_its_title_and_what_it_is_about(page: Path) -> None:
    """The contents are made of them."""
    lines = page.read_text().splitlines()
    assert lines[0].startswith("# ")
    assert lines[1] == ""
    assert re.match(r"[\w`*\[]", lines[2])


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_blocks_name_a_table_or_a_command(page: Path) -> None:
    text = page.read_text()
    blocks = re.findall(rf"^{re.escape(BEGIN)}(.*) -->$", text, re.MULTILINE)
    assert [
        block
        for block in blocks
        if block not in {*TABLES, "contents"} and re.match(r"(in [^:]+: )?derivlint ", block) is None
    ] == []
    assert text.count(f"\n{END}\n") == len(blocks)


@pytest.mark.parametrize(("page", "text"), list(fences("toml")), ids=name)
def test_configurations_are_read_as_they_stand(page: Path, text: str, here: Path) -> None:
    document = tomllib.loads(text)
    if OF_OTHERS & document.keys():
        return
    own = OWN_FILE if "tool" not in document else "pyproject.toml"
    (here / own).write_text(text)
    found = find_settings(here)
    assert found.origin == here / own


def test_suppressions_are_shown_where_they_work(run: Run, here: Path) -> None:
    """Each silences something, and nothing is left."""
    (text,) = (text for _, text in fences("yaml") if "derivlint: ignore[" in text)
    (here / "derivatives.yaml").write_text(text)
    outcome = run("check")
    assert (outcome.status, outcome.out) == (0, "no findings in 1 file (2 entries, 5 formulas); 4 suppressed\n")
    assert run("check", "--no-ignores").status == 1


def command_lines() -> Iterator[tuple[Path, str]]:
    for page, text in [*fences("sh"), *fences("yaml"), *fences("groovy")]:
        # an argument in quotes may go over several lines
        joined = re.sub(r'(derivlint [^"\n]*"[^"]*)"', lambda match: " ".join(match[0].split("\n")), text)
        for line in joined.splitlines():
            for command in re.findall(r"(?:^|[\s'/])(derivlint [a-z]+ ?[^|#'`]*)", line):
                yield page, command.strip()
    for page in PAGES:
        text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
        for command in re.findall(r"`(derivlint [a-z]+ ?[^`]*)`", text):
            yield page, " ".join(command.split())


def wrong_usage(command: str) -> str | None:
    """What is wrong with a command line, as far as its commands and the names of its options tell."""
    # "..." stands for more of the same, brackets for what may be left out, and patterns are expanded by shells
    words = [word for word in shlex.split(command.replace("...", "").replace("[", "").replace("]", "")) if word]
    try:
        # in front: behind "--" are the arguments of a program, which would run in place of the tests
        cli.main([words[1], "--help", *words[2:]], prog_name="derivlint", standalone_mode=False)
    except click.ClickException as error:
        return error.format_message()
    return None


def test_command_lines_name_commands_and_options_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    lines = list(command_lines())
    assert len(lines) > 40
    wrong = [(name(page), line, wrong_usage(line)) for page, line in lines if wrong_usage(line) is not None]
    capsys.readouterr()
    assert wrong == []


def test_every_listed_command_and_option_is_described() -> None:
    text = commands()
    for command in COMMANDS:
        found = cli.get_command(click.Context(cli), command)
        assert found is not None
        assert (f"\n## derivlint {command}\n" in f"\n{text}") != found.hidden, command
    assert "| `--output-file, -o PATH` |" in text or "| `-o, --output-file PATH` |" in text
    assert "\x08" not in text


def test_every_key_of_the_configuration_is_described() -> None:
    rows = [row.split(" | ") for row in settings().splitlines()[2:]]
    assert [row[0] for row in rows] == [f"| `{key}`" for key in KEYS]
    by_key = {row[0].strip("| `"): row[1:] for row in rows}
    assert by_key["fail-level"][:3] == ['one of "error", "warning", "info"', '`"warning"`', "`--fail-level`"]


# the JSON of findings


def closed(schema: Any) -> Any:
    """The schema with objects that may have no other keys: what it leaves out is found in this way."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    more = {"additionalProperties": False} if "properties" in schema and "required" in schema else {}
    return {key: closed(value) for key, value in schema.items()} | more


@pytest.fixture(scope="module")
def findings() -> Draft7Validator:
    schema = closed(findings_schema())
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


def test_the_shipped_schema_is_made_from_the_code() -> None:
    assert (ROOT / FINDINGS_SCHEMA).read_text(encoding="utf-8") == schema_text()


@pytest.mark.parametrize(
    "arguments",
    [
        (str(EXAMPLE),),
        (str(EXAMPLE), "--statistics", "--min-severity", "info", "--min-confidence", "low"),
        ("derivatives.yaml",),
        ("derivatives.yaml", "native.yaml"),
        ("derivatives.yaml", "--fix"),
    ],
)
def test_real_documents_fit_the_schema(
    run: Run, here: Path, findings: Draft7Validator, arguments: tuple[str, ...]
) -> None:
    (here / "derivatives.yaml").write_text(f"# é😀\n{SIN}{COS}{SIN.replace('conj()', 'conj();')}")
    (here / "native.yaml").write_text("- broken: [\n")
    outcome = run("check", *arguments, "--output-format", "json")
    document = json.loads(outcome.out)
    assert list(findings.iter_errors(document)) == []
    assert document["diagnostics"]
    lines = [json.loads(line) for line in run("check", *arguments, "--output-format", "json-lines").out.splitlines()]
    line_schema = findings.evolve(
        schema={"$ref": "#/definitions/finding", "definitions": findings_schema()["definitions"]}
    )
    for line in lines:
        assert list(line_schema.iter_errors(line)) == []


def test_the_schema_refuses_what_is_no_such_document(run: Run, findings: Draft7Validator) -> None:
    document = json.loads(run("check", str(EXAMPLE), "--output-format", "json").out)
    for change in (
        {"version": 2},
        {"diagnostics": [{**document["diagnostics"][0], "severity": "fatal"}]},
        {"diagnostics": [{**document["diagnostics"][0], "start": {"line": 0, "column": 1, "offset": 0}}]},
        {"summary": {**document["summary"], "errors": -1}},
    ):
        assert not findings.is_valid({**document, **change}), change
    without = {key: value for key, value in document["diagnostics"][0].items() if key != "help"}
    assert not findings.is_valid({**document, "diagnostics": [without]})


def test_every_key_of_the_json_is_described() -> None:
    text = findings_keys()
    schema = findings_schema()
    for value in (schema, *schema["definitions"].values()):
        for key, member in value["properties"].items():
            assert f"| `{key}` |" in text
            assert member.get("description"), key


def test_the_picture_in_the_readme_shows_what_is_printed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line of the command's output is in the SVG, which does not depend on the version of rich here."""
    monkeypatch.chdir(ROOT)
    command = COMMAND.removeprefix("derivlint ").removesuffix(" --color always")
    svg = html.unescape((ROOT / PICTURE).read_text(encoding="utf-8")).replace("\xa0", " ")
    letters = "".join(re.sub(r"<[^>]*>", "", svg).split())
    printed = run(*shlex.split(command), "--no-cache").out
    assert printed.count("\n") > 15
    assert [line for line in printed.splitlines() if "".join(line.split()) not in letters] == []
    assert f"]({PICTURE.as_posix()})" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_address_of_the_project_is_the_same_everywhere() -> None:
    address = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Homepage"]
    assert address == HOME
    extension = json.loads((ROOT / "editors/vscode/package.json").read_text())
    assert extension["repository"]["url"] == f"{address}.git"
    for name in ("mkdocs.yml", "CITATION.cff", "examples/ci/pre-commit.yaml", "docs/guides/ci.md"):
        text = (ROOT / name).read_text()
        assert set(re.findall(r"https://github\.com/derivlint/\w+", text)) == {address}, name


def test_the_tutorial_shows_every_file_that_its_commands_read() -> None:
    """So that it can be followed in an empty folder."""
    page, folder = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8"), ROOT / "examples" / "tutorial"
    files = {path.read_text(encoding="utf-8"): path.name for path in folder.iterdir()}
    assert [files[text] for text in re.findall(r"^```yaml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)] == [
        *("native_functions.yaml", "1-first-attempt.yaml", "2-compiles.yaml"),
        *("known.yaml", "3-correct.yaml", "4-twice.yaml"),
    ]
    assert all(f"`{name}`" in page for name in files.values())
    assert all(
        line.startswith("in examples/tutorial: ") for line in re.findall(rf"^{re.escape(BEGIN)}(.*)", page, re.M)
    )


def test_the_readme_is_short_and_begins_with_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count("\n") < 150
    install = "python3 -m venv .venv && .venv/bin/pip install --quiet"
    first, second, *_ = (block for page, block in fences("sh") if page.name == "README.md")
    assert first == f"{install} . && .venv/bin/derivlint check examples/derivatives.yaml\n"
    assert second == f'{install} -e ".[dev]" && .venv/bin/python -m pytest\n'


def test_the_places_of_changes_exist() -> None:
    """CONTRIBUTING.md names files and folders of the repository, NAME standing for any."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("## Where to change what")[2].partition("\n## ")[0]
    places = re.findall(r"`((?:src|rules|tests|docs)/[^`]+)`", table)
    assert len(places) > 20
    assert [place for place in places if "NAME" not in place and not (ROOT / place).exists()] == []


def test_the_modules_of_the_glossary_exist() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").partition("## In the code")[2]
    places = [ROOT / "src" / "derivlint" / name.replace(".", "/") for name in re.findall(r"`([\w.]+)` \|\n", text)]
    assert len(places) > 20
    assert [place.name for place in places if not (place.is_dir() or place.with_suffix(".py").is_file())] == []
