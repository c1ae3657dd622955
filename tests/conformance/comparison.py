"""What torchgen says about the examples of every rule, as the table of docs/comparison.md.

``python -m tests.conformance.comparison`` writes the table; ``test_comparison`` fails if it is stale.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import yaml
from torchgen.yaml_utils import YamlLoader

from derivlint.lint import Rule
from derivlint.lint.option import GROUPS
from derivlint.rules import load_rules
from tests.conformance.oracle import Oracle, definitions

PAGE = Path(__file__).parents[2] / "docs" / "comparison.md"
BEGIN, END = "<!-- table: python -m tests.conformance.comparison -->\n", "<!-- end of table -->\n"


def examples(rule: Rule) -> list[str]:
    """The invalid examples of a rule that are one entry, or not YAML, for PyTorch's own operators."""
    found = []
    for case in rule.invalid:
        try:
            items = yaml.load(case.yaml, Loader=YamlLoader)
        except (yaml.YAMLError, AssertionError, ValueError):
            items = None
        if case.natives is None and (not isinstance(items, list) or len(items) == 1):
            found.append(case.yaml)
    return found


def has_line(text: str) -> bool:
    """Whether the message about a text that cannot be loaded has a line number, as those of YAML's parser do."""
    try:
        yaml.load(text, Loader=YamlLoader)
    except yaml.MarkedYAMLError as error:
        return error.problem_mark is not None
    except Exception:
        return False
    return False


def table() -> str:
    """For each group of rules how many of its examples torchgen rejects, and how many with a line number."""
    oracle = Oracle()
    places = {definition["name"]: index for index, definition in enumerate(definitions())}
    tried: Counter[str] = Counter()
    rejected: Counter[str] = Counter()
    located: Counter[str] = Counter()
    for rule in load_rules():
        if rule.meta.group == "suppressions":
            continue
        for text in examples(rule):
            name = re.search(r"name: (.*)", text)
            refusal = oracle.refusal(places.get(name[1] if name else "", len(places) - 1), text)
            tried[rule.meta.group] += 1
            if refusal is not None:
                rejected[rule.meta.group] += 1
                located[rule.meta.group] += has_line(text) or re.search(r"\bline \d+", refusal.message) is not None
    lines = [
        "| rules about | examples | torchgen rejects | with a line number | derivlint reports |\n",
        "|---|---|---|---|---|\n",
    ]
    lines += (
        f"| {group} | {tried[group]} | {rejected[group]} | {located[group]} | {tried[group]} |\n"
        for group in GROUPS
        if tried[group]
    )
    total = tried.total()
    lines.append(f"| all | {total} | {rejected.total()} | {located.total()} | {total} |\n")
    return "".join(lines)


def page(text: str) -> str:
    """The page with the table as it is now."""
    head, _, rest = text.partition(BEGIN)
    return f"{head}{BEGIN}{table()}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
