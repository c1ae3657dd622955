"""A comment that silences findings is called unused only where its rule judged; nothing else deletes it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from derivlint.lint import Confidence, Diagnostic, Severity
from derivlint.lint.engine.depth import AnalysisDepth
from derivlint.lint.suppressions.suppression import Suppressions
from derivlint.lint.suppressions.suppression_edits import deletion
from derivlint.model import Entry, Model, build_model
from derivlint.project.check import CheckedFile, check_source
from derivlint.project.fixing import fix_source
from derivlint.project.settings import Settings
from derivlint.rules import load_rule, load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.cli.conftest import Run
from tests.counting import calls_of
from tests.sampling import sample

pytestmark = pytest.mark.long

COMMENT = "# derivlint: ignore[missing-conjugate] reviewed"
GOOD = "- name: sin(Tensor self) -> Tensor\n  self: grad * self.cos().conj()"


def checked(text: str, natives: NativeFunctions) -> CheckedFile:
    settings = Settings()
    return check_source(SourceFile("derivatives.yaml", text), natives, settings, settings.selected(load_rules()))


def unused(text: str, natives: NativeFunctions) -> list[int]:
    """The lines of the comments that are called unused."""
    found = checked(text, natives)
    return [found.model.source.position(d.span.start).line for d in found.shown if d.rule == "unused-suppression"]


@pytest.mark.parametrize(
    "text",
    [
        f"{GOOD}  {COMMENT}\n",
        f"{GOOD.replace('Tensor', 'Tensor', 1)}\n  # derivlint: ignore[missing-conjugate] reviewed\n".replace(
            "  self: grad", "  # derivlint: ignore[nonlinear-gradient] reviewed\n  self: grad"
        ),
        f"{COMMENT}\n{GOOD}\n",
        f"{COMMENT.replace('ignore', 'ignore-file')}\n{GOOD}\n",
        f"{GOOD}  # derivlint: ignore[wrong-gradient, undefined-member, argument-in-two-keys] reviewed\n",
    ],
)
def test_what_a_rule_judged_is_called_unused(text: str, bundled_natives: NativeFunctions) -> None:
    assert unused(text, bundled_natives)


NOT_JUDGED = {
    "does not parse": "- name: sin(Tensor self) -> Tensor\n  self: grad * self.sinh(  {}\n",
    "another formula does not parse": "{}\n- name: atan2(Tensor self, Tensor other) -> Tensor\n"
    "  self: grad * other.conj()\n  other: grad * self.(\n",
    "unknown operator": "- name: unheard_of(Tensor self) -> Tensor\n  self: grad * self.cos().conj()  {}\n",
    "unknown overload": "- name: sin.foo(Tensor self) -> Tensor\n  self: grad * self.cos()  {}\n",
    "schema that does not parse": "- name: sin(Tensor self -> Tensor\n  self: grad * self.cos().conj()  {}\n",
    "no name": "- nam: sin(Tensor self) -> Tensor\n  self: grad * self.cos()  {}\n",
    "unknown key": "- name: sin(Tensor self) -> Tensor\n  slef: grad * self.cos()  {}\n",
    "no text": "- name: sin(Tensor self) -> Tensor\n  self: [grad * self.cos()]  {}\n",
    "unknown helper": "- name: sin(Tensor self) -> Tensor\n  self: my_own_helper(grad, self)  {}\n",
    "unknown method": "- name: sin(Tensor self) -> Tensor\n  self: grad * self.cosine().conj()  {}\n",
    "undeclared name": "- name: sin(Tensor self) -> Tensor\n  self: grad * other.conj()  {}\n",
    "error of types": "- name: sin(Tensor self) -> Tensor\n  self: grad * self.cos(1, 2).conj()  {}\n",
    "broken YAML behind": f"{GOOD}  {{}}\n- name: cos(Tensor self) -> Tensor\n  self: 'grad\n",
    "broken YAML before": f"- name: [cos\n{GOOD}  {{}}\n",
    "a bad escape": f'{GOOD}  {{}}\n- name: cos(Tensor self) -> Tensor\n  self: "\\q"\n',
}


@pytest.mark.parametrize("situation", NOT_JUDGED)
@pytest.mark.parametrize("kind", ["line", "entry", "file"])
def test_what_no_rule_judged_is_never_called_unused_nor_deleted(
    situation: str, kind: str, bundled_natives: NativeFunctions
) -> None:
    text = NOT_JUDGED[situation].format(COMMENT)
    if kind == "entry" and not text.startswith("#"):
        text = f"{COMMENT}\n{NOT_JUDGED[situation].replace('  {}', '')}"
    elif kind == "file":
        text = f"{COMMENT.replace('ignore', 'ignore-file')}\n{NOT_JUDGED[situation].replace('{}', '')}"
    assert unused(text, bundled_natives) == []
    fixed = fix_source(
        SourceFile("derivatives.yaml", text), lambda each: checked(each.text, bundled_natives), unsafe=True
    )
    assert text.count("reviewed") == fixed.text.count("reviewed")


def test_one_entry_that_was_not_judged_leaves_the_others_alone(bundled_natives: NativeFunctions) -> None:
    text = f"{GOOD}  {COMMENT}\n- name: sinh(Tensor self) -> Tensor\n  self: grad * self.cosh(  {COMMENT}\n"
    assert unused(text, bundled_natives) == [2]


def test_a_crash_on_an_entry_is_no_judgement_of_it(
    bundled_natives: NativeFunctions, monkeypatch: pytest.MonkeyPatch
) -> None:
    from derivlint.analysis.formula_analyses import FormulaAnalyses

    original = FormulaAnalyses.formulas

    def crash(self: FormulaAnalyses, entry: Entry) -> object:
        if entry.operator == "cos":
            raise RecursionError
        return original(self, entry)

    monkeypatch.setattr(FormulaAnalyses, "formulas", crash)
    text = f"{GOOD}  {COMMENT}\n{GOOD.replace('cos', 'sin').replace('name: sin', 'name: cos')}  {COMMENT}\n"
    assert unused(text, bundled_natives) == [2]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--select", "unused-suppression"),
        ("--ignore", "missing-conjugate"),
        ("--select", "undefined-name,unused-suppression"),
    ],
)
def test_a_rule_that_is_not_selected_judges_nothing(run: Run, here: Path, arguments: tuple[str, ...]) -> None:
    text = f"{GOOD}  {COMMENT}\n"
    Path("derivatives.yaml").write_text(text)
    outcome = run("check", "--fix", "--unsafe-fixes", *arguments)
    assert "unused-suppression" not in outcome.out
    assert Path("derivatives.yaml").read_text() == text
    assert run("check").out.count("unused-suppression") == 1


def test_a_finding_that_is_hidden_is_still_a_use(run: Run, here: Path) -> None:
    text = f"{GOOD.replace('.conj()', '')}  {COMMENT}\n"
    Path("derivatives.yaml").write_text(text)
    for arguments in (("--min-confidence", "high"), ("--min-severity", "error"), ("--preview",)):
        run("check", "--fix", "--unsafe-fixes", *arguments)
        assert Path("derivatives.yaml").read_text() == text


def test_the_name_of_a_newer_rule_is_not_guessed_away(run: Run, here: Path) -> None:
    text = f"{GOOD}  {COMMENT.replace('conjugate', 'conjugates')}\n"
    Path("derivatives.yaml").write_text(text)
    assert "unknown-suppression" in run("check", "--fix", "--unsafe-fixes").out
    assert Path("derivatives.yaml").read_text() == text


def test_a_file_whose_operators_are_not_at_hand_keeps_its_comments(run: Run, here: Path) -> None:
    entry = "- name: my_sin(Tensor self) -> Tensor\n  self: grad * self.cos().conj()"
    text = f"{COMMENT.replace('ignore', 'ignore-file')}\n{COMMENT}\n{entry}  {COMMENT}\n\n{GOOD}  {COMMENT}\n"
    Path("derivatives.yaml").write_text(text)
    run("check", "--fix", "--unsafe-fixes")
    assert Path("derivatives.yaml").read_text() == text.replace(f"{GOOD}  {COMMENT}", GOOD)
    Path("my_ops.yaml").write_text("- func: my_sin(Tensor self) -> Tensor\n  dispatch:\n    CPU: my_sin\n")


def test_entries_for_a_version_that_was_not_checked_keep_their_comments(run: Run, here: Path) -> None:
    text = (
        "all_version: [v2.0, v2.1]\nbackward:\n"
        f"- name: sin(Tensor self) -> Tensor\n  self: grad * self.cos().conj()  {COMMENT}\n  version: v2.0\n"
        f"- name: cos(Tensor self) -> Tensor\n  self: grad * -self.sin().conj()  {COMMENT}\n  version: v2.1\n"
    )
    Path("derivatives.yaml").write_text(text)
    layout = ("--config", 'preset="torch_npu"', "--output-format", "concise")
    assert run("check", *layout).out.count("unused-suppression") == 2
    (line,) = [
        line for line in run("check", *layout, "--config", 'version="v2.1"').out.splitlines() if "unused-sup" in line
    ]
    assert ":7:" in line


def test_a_baseline_forgets_only_what_was_judged(run: Run, here: Path) -> None:
    bad = GOOD.replace(".conj()", "")
    Path("derivatives.yaml").write_text(f"{bad}\n")
    assert run("check", "--baseline", "known.json", "--update-baseline").status == 0
    known = Path("known.json").read_text()
    assert "missing-conjugate" in known
    damages = (
        bad.replace("cos()", "cos("),
        bad.replace("sin(", "sinn("),
        bad.replace("self.cos()", "my_own_helper(self)"),
        f"{bad.replace('.cos()', '.cos().conj()')}\n- name: '",
        f"{GOOD}\n  result: auto_element_wise.foo()",
    )
    for damaged in damages:
        Path("derivatives.yaml").write_text(f"{damaged}\n")
        for _ in range(2):
            outcome = run("check", "--baseline", "known.json", "--prune-baseline")
            assert "no more" not in outcome.out + outcome.err, damaged
            assert Path("known.json").read_text() == known, damaged
    Path("derivatives.yaml").write_text(f"{GOOD}\n")
    run("check", "--baseline", "known.json", "--prune-baseline")
    assert "missing-conjugate" not in Path("known.json").read_text()


#: Each takes a sound text with a comment and spoils it.
DAMAGES: dict[str, Callable[[str], str]] = {
    "formula": lambda text: re.sub(
        r"(?m)^(\s+(?!name|version|output_diff|dispatch)[\w, ]+: )([a-z_(\-][^#|>\n]*?)(\s*)(#.*)?$",
        r"\1\2.sinh(\3\4",
        text,
    ),
    "schema": lambda text: re.sub(r"name: (\w+)", r"name: \1_of_mine", text),
    "schema syntax": lambda text: re.sub(r"Tensor self", "Tensr[ self", text),
    "helper": lambda text: re.sub(r"\b(grad|self_t)\b", r"my_own_helper(\1)", text),
    "YAML behind": lambda text: f"{text}\n- name: 'cos\n",
    "YAML before": lambda text: f"- [\n{text}",
}


def _with_comment(text: str, rule: str, line: int) -> str:
    lines = text.splitlines()
    indent = re.match(r" *", lines[line - 1])
    assert indent is not None
    lines.insert(line - 1, f"{indent.group()}# derivlint: ignore[{rule}] reviewed")
    return "\n".join(lines) + "\n"


def _cases() -> list[tuple[str, int]]:
    return [
        (rule.name, number)
        for rule in load_rules()
        if rule.target != "suppressions"
        for number, case in enumerate(rule.invalid)
        if case.natives is None
        and case.header is None
        and case.bodies is None
        and case.yaml.startswith("- ")
        and "derivlint:" not in case.yaml
    ]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_never_costs_a_comment(damage: str, bundled_natives: NativeFunctions) -> None:
    """Every rule's own cases, silenced and then spoilt: whatever fixes do, the comment stays."""
    lost = []
    for name, number in sample(_cases(), 50):
        case = load_rule(name).invalid[number]
        line = int(case.at.partition(":")[0])
        silenced = _with_comment(case.yaml, name, line)
        text = DAMAGES[damage](silenced)
        if text == silenced:
            continue
        source = SourceFile("derivatives.yaml", text)
        fixed = fix_source(source, lambda each: checked(each.text, bundled_natives), unsafe=True)
        if fixed.text.count("reviewed") < 1:
            lost.append((name, number, text, fixed.text))
    assert not lost, (
        "\n----\n".join(f"{name} {number}\n{old}\n=>\n{new}" for name, number, old, new in lost[:5])
        + f"{[each[:2] for each in lost]}"
    )


@pytest.mark.parametrize(
    ("module", "reading"),
    [
        ("argument-in-two-keys", AnalysisDepth.FORM),
        ("wrong-argument-type", AnalysisDepth.TYPES),
        ("missing-conjugate", AnalysisDepth.SEMANTICS),
        ("swapped-arguments", AnalysisDepth.SEMANTICS),
        ("wrong-gradient", AnalysisDepth.VALUES),
        ("wrong-tangent", AnalysisDepth.VALUES),
    ],
)
def test_what_a_rule_reads_follows_from_what_it_imports(module: str, reading: AnalysisDepth) -> None:
    assert load_rule(module).reads is reading


def _many(count: int) -> dict[str, str]:
    """Texts with as many comments, in every way in which there can be many."""
    entry = "- name: sin(Tensor self) -> Tensor\n"
    return {
        "entries": "".join(f"{GOOD}  {COMMENT}\n" for _ in range(count)),
        "above entries": "".join(f"{COMMENT}\n{GOOD}\n" for _ in range(count)),
        "keys of one entry": entry + "".join(f"  k{number}: grad  {COMMENT}\n" for number in range(count)),
        "lines above one key": f"{entry}" + f"  {COMMENT}\n" * count + "  self: grad\n",
        "names in one comment": f"{GOOD}  # derivlint: ignore[{', '.join(f'rule-{n}' for n in range(count))}]\n",
        "for the file": f"{COMMENT.replace('ignore', 'ignore-file')}\n" * count + f"{GOOD}\n",
    }


@pytest.mark.parametrize("shape", list(_many(1)))
def test_the_work_grows_with_the_number_of_comments(shape: str, bundled_natives: NativeFunctions) -> None:
    """Reading comments, finding what they cover, and what is unused, counted in calls."""
    calls = []
    for count in (100, 1600):
        model = build_model(SourceFile("d.yaml", _many(count)[shape]), bundled_natives)
        found = [
            Diagnostic("d.yaml", formula.value_span, "missing-conjugate", "m", Severity.WARNING, Confidence.HIGH)
            for formula in (formula for entry in model.entries for formula in entry.formulas)
        ]

        def work(model: Model = model, found: list[Diagnostic] = found) -> None:
            suppressions = Suppressions(model)
            suppressions.matches(found)
            for placed in suppressions.placed:
                deletion(model.source, placed.suppression)

        calls.append(calls_of(work))
    assert calls[1] < 1.3 * 16 * calls[0]
