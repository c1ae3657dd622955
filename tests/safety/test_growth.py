"""Work grows with the size of the input and not faster, whatever it is that grows.

Work is counted in calls, and its growth is an exponent: 1 where twice the input takes twice the calls, 2 where it takes
four times as many. A shape with a limit of its own is followed until a finding says that the limit is reached. The
largest sizes are those of a campaign.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from derivlint.cli.main import cli
from derivlint.cpp.declarations.header import read_declarations
from derivlint.lint import Confidence, Rule
from derivlint.lint.baseline import read_baseline
from derivlint.project.check import CheckedFile, check_source
from derivlint.project.fixing import fix_source
from derivlint.project.settings import Settings
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions, read_native_functions
from derivlint.source import SourceFile
from tests.counting import calls_of
from tests.running import runner
from tests.safety.shapes import DEEP, SHAPES
from tests.sampling import CAMPAIGN, sample

pytestmark = pytest.mark.growth

#: No input may grow faster. Exactly 1 is out of reach: what is sorted, and what is looked for in sorted lists, is not.
STEEPEST = 1.15
#: The findings that say that an input is too large to be looked at as a whole.
LIMITS = frozenset({"formula-too-large", "yaml-limit-exceeded"})
#: Trees of formulas have 120 levels at most, and a call of a method is two of them.
DEPTHS = (6, 12, 24, 48, 96) if CAMPAIGN else (12, 24, 48)
SIZES = (10, 40, 160, 400) if CAMPAIGN else (10, 30, 90)
FIXED_SIZES = (10, 40, 160) if CAMPAIGN else (10, 20, 40)
HEADER_SIZES = (200, 800, 3200) if CAMPAIGN else (50, 150, 450)
TOO_DEEP = 10_000 if CAMPAIGN else 5_000
SETTINGS = Settings(preview=True, min_confidence=Confidence.LOW)


@pytest.fixture(scope="module")
def rules() -> tuple[Rule, ...]:
    """All rules, those in preview as well."""
    return SETTINGS.selected(load_rules())


def assert_linear(work: Callable[[int], int], sizes: Sequence[int]) -> None:
    """Assert that no step between two sizes grows too fast; a size whose work is -1 ends the row."""
    # whatever is done once for all inputs is done then; what is known of one text counts for no other
    work(sizes[0] + 1)
    counted = []
    for size in sizes:
        calls = work(size)
        if calls < 0:
            break
        counted.append((size, calls))
    for (small, few), (large, many) in pairwise(counted):
        exponent = math.log(many / few) / math.log(large / small)
        assert exponent <= STEEPEST, f"{few:,} calls at {small}, {many:,} at {large}: exponent {exponent:.2f}"


@pytest.mark.parametrize("name", sample(SHAPES, 20, always=("dispatch keys", "entries of one name")))
def test_a_check_grows_with_the_file(bundled_natives: NativeFunctions, rules: tuple[Rule, ...], name: str) -> None:
    def work(size: int) -> int:
        source = SourceFile("derivatives.yaml", SHAPES[name](size))
        checks: list[CheckedFile] = []
        calls = calls_of(lambda: checks.append(check_source(source, bundled_natives, SETTINGS, rules)))
        assert checks[0].crashes == 0
        return -1 if any(item.rule in LIMITS for item in checks[0].unfiltered) else calls

    assert_linear(work, DEPTHS if name in DEEP else SIZES)


@pytest.mark.parametrize("name", sample(DEEP, 6))
def test_what_is_nested_too_deep_is_a_finding(
    bundled_natives: NativeFunctions, rules: tuple[Rule, ...], name: str
) -> None:
    """The limit is known to be exceeded after a few calls for each level."""
    source = SourceFile("derivatives.yaml", SHAPES[name](TOO_DEEP))
    checks: list[CheckedFile] = []
    calls = calls_of(lambda: checks.append(check_source(source, bundled_natives, SETTINGS, rules)))
    assert "formula-too-large" in {item.rule for item in checks[0].unfiltered}
    assert calls < 30 * len(source.text)


SIN = "- name: sin(Tensor self) -> Tensor\n"
DISPATCH = f"{SIN}  dispatch:\n    Default:\n      self: grad\n"
FIXABLE: dict[str, Callable[[int], str]] = {
    "undeclared names": lambda n: f"{SIN}  self: f({{{'slf, ' * n}grad}})\n",
    "undeclared names of entries": lambda n: f"{SIN}  self: grad * slf\n" * n,
    "unknown keys": lambda n: (
        f"{SIN}  self: grad\n" + "".join(f"  output_differentiabilit{i}: grad\n" for i in range(n))
    ),
    "misspelt keys": lambda n: f"{SIN}  slef: grad * self.cos().conj()\n" * n,
    "equal keys": lambda n: f"{SIN}  self: grad\n" + "  self: grad\n" * n,
    "missing conjugations": lambda n: f"{SIN}  self: grad * self.cos()\n" * n,
    "missing conjugations of dispatch keys": lambda n: (
        DISPATCH + "".join(f"    AutogradCPU{i}:\n      self: grad * self.cos()\n" for i in range(n))
    ),
    "unused suppressions": lambda n: f"{SIN}  self: grad # derivlint: ignore[undefined-name] r\n" * n,
    "unknown suppressions": lambda n: f"{SIN}  self: slf # derivlint: ignore[undefined-nme] r\n" * n,
    "wrong results": lambda n: f"{SIN}  self: grad * slf.cos().conj();\n" * n,
    "dispatch keys": lambda n: DISPATCH + "".join(f"    Key{i}:\n      self: grad * slf.cos()\n" for i in range(n)),
    "unknown operators": lambda n: "- name: sinn(Tensor self) -> Tensor\n  self: grad\n" * n,
}


@pytest.mark.parametrize("name", FIXABLE)
def test_fixing_grows_with_the_file(bundled_natives: NativeFunctions, rules: tuple[Rule, ...], name: str) -> None:
    """Neither does the work for one check, nor the number of checks."""

    def work(size: int) -> int:
        source = SourceFile("derivatives.yaml", FIXABLE[name](size))
        return calls_of(
            lambda: fix_source(source, lambda text: check_source(text, bundled_natives, SETTINGS, rules), unsafe=True)
        )

    assert_linear(work, FIXED_SIZES)


HEADERS: dict[str, Callable[[int], str]] = {
    "functions": lambda n: "".join(f"Tensor f{i}(const Tensor& grad);\n" for i in range(n)),
    "functions of one name": lambda n: "".join(f"Tensor f(const Tensor& grad, T{i} x);\n" for i in range(n)),
    "parameters": lambda n: f"Tensor f({', '.join(f'const Tensor& a{i}' for i in range(n + 1))});\n",
    "default values": lambda n: f"Tensor f({', '.join(f'int a{i} = {i}' for i in range(n + 1))});\n",
    "namespaces": lambda n: "".join(f"namespace n{i} {{ Tensor f(); }}\n" for i in range(n)),
    "nested namespaces": lambda n: "namespace n {\n" * n + "Tensor f();\n" + "}\n" * n,
    "classes": lambda n: "".join(f"struct S{i} {{ Tensor f() const; int x; }};\n" for i in range(n)),
    "members": lambda n: f"struct S {{ {''.join(f'Tensor f{i}() const; ' for i in range(n))} }};\n",
    "template arguments": lambda n: f"std::tuple<{'Tensor, ' * n}Tensor> f();\n",
    "nested template arguments": lambda n: f"{'std::vector<' * n}Tensor{'>' * n} f();\n",
    "templates": lambda n: "".join(f"template <typename T> T f{i}(T x);\n" for i in range(n)),
    "bodies": lambda n: "".join(f"inline int f{i}() {{ return g(1, 2); }}\n" for i in range(n)),
    "a body": lambda n: f"inline int f() {{ {'g(1, 2); ' * n} }}\n",
    "nested bodies": lambda n: f"inline int f() {{ {'{ g(); ' * n}{'}' * n} }}\n",
    "directives": lambda n: "#define X 1\n" * n,
    "conditions": lambda n: "#if X\n" * n + "#endif\n" * n,
    "comments": lambda n: "// a comment\n" * n + "/* another */ " * n,
    "what is not C++": lambda n: "@ # $ ( [ { ; " * n,
    "open brackets": lambda n: "( " * n,
    "open braces": lambda n: "namespace n { " * n,
    "open angles": lambda n: "template < " * n,
}


@pytest.mark.parametrize("name", HEADERS)
def test_reading_a_header_grows_with_it(name: str) -> None:
    # 200 nested brackets are refused by a limit that costs a constant
    sizes = (400, 1600) if name.startswith("nested") else HEADER_SIZES
    assert_linear(lambda size: calls_of(lambda: read_declarations(HEADERS[name](size))), sizes)


def test_checking_with_a_header_grows_with_both(rules: tuple[Rule, ...]) -> None:
    def work(size: int) -> int:
        header = "".join(f"Tensor helper{i}_{size}(const Tensor& grad);\n" for i in range(size))
        declarations = read_declarations(header).declarations.to_json()
        natives = read_native_functions([native_functions(3)]).with_declarations(declarations, complete=True)
        entries = "".join(
            f"- name: own0(Tensor self) -> Tensor\n  self: helper{i}_{size}(grad) + helprr{i}_{size}(grad)\n"
            for i in range(size)
        )
        return calls_of(lambda: check_source(SourceFile("derivatives.yaml", entries), natives, SETTINGS, rules))

    assert_linear(work, SIZES)


def native_functions(size: int, tag: str = "pointwise") -> SourceFile:
    return SourceFile(
        "native_functions.yaml",
        "".join(
            f"- func: own{i}(Tensor self) -> Tensor\n  variants: function, method\n  tags: {tag}\n" for i in range(size)
        ),
    )


def test_operators_of_a_file_grow_with_it(rules: tuple[Rule, ...]) -> None:
    def work(size: int) -> int:
        natives = native_functions(size)
        entries = SourceFile(
            "derivatives.yaml",
            "".join(f"- name: own{i}(Tensor self) -> Tensor\n  self: grad * self.own{i}()\n" for i in range(size)),
        )
        return calls_of(lambda: check_source(entries, read_native_functions([natives]), SETTINGS, rules))

    assert_linear(work, SIZES)


def test_tags_grow_with_their_file(rules: tuple[Rule, ...]) -> None:
    def work(size: int) -> int:
        tags = SourceFile("tags.yaml", "".join(f"- tag: tag{i}\n  desc: a tag\n" for i in range(size)))
        natives = native_functions(3, f"[{', '.join(f'tag{i}' for i in range(size))}]")
        entries = SourceFile("derivatives.yaml", "- name: own0(Tensor self) -> Tensor\n  self: grad\n")
        return calls_of(lambda: check_source(entries, read_native_functions([natives], tags=tags), SETTINGS, rules))

    assert_linear(work, SIZES)


def test_a_baseline_grows_with_its_findings() -> None:
    def work(size: int) -> int:
        rows = [
            {"path": "derivatives.yaml", "rule": "undefined-name", "entry": f"own{i}", "key": "self", "text": "slef"}
            for i in range(size)
        ]
        text = json.dumps({"version": 1, "findings": rows})
        source = SourceFile("derivatives.yaml", "")
        return calls_of(lambda: read_baseline(text).unknown((), source, "derivatives.yaml"))

    assert_linear(work, SIZES)


def test_ignores_for_operators_grow_with_their_number(
    bundled_natives: NativeFunctions, rules: tuple[Rule, ...]
) -> None:
    source = SourceFile("derivatives.yaml", "- name: sin(Tensor self) -> Tensor\n  self: slef\n")

    def work(size: int) -> int:
        settings = Settings(preview=True, per_operator_ignores={f"own{i}": ("undefined-name",) for i in range(size)})
        return calls_of(lambda: check_source(source, bundled_natives, settings, rules))

    assert_linear(work, SIZES)


def test_files_grow_with_their_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def work(size: int) -> int:
        folder = tmp_path / str(size)
        folder.mkdir(exist_ok=True)
        for index in range(size):
            text = f"- name: sin(Tensor self) -> Tensor\n  self: grad * slef{index}\n"
            (folder / f"derivatives_{index}.yaml").write_text(text)
        arguments = ["check", str(folder), "--no-config", "--no-cache", "--output-format", "concise"]
        results = []
        calls = calls_of(lambda: results.append(runner().invoke(cli, arguments)))
        assert results[0].exit_code == 1
        return calls

    assert_linear(work, (5, 20, 80) if CAMPAIGN else (5, 20))
