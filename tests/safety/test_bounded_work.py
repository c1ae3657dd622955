"""64 KiB of anything are checked within 2 seconds of processor time and 300 MB, and no text makes a rule crash."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

import pytest

import derivlint
from derivlint.lint import Confidence, Rule
from derivlint.project.check import check_source
from derivlint.project.settings import Settings
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.safety.shapes import MUL, SHAPES, SIN, Shape
from tests.sampling import sample

pytestmark = pytest.mark.long

SIZE = 64 * 1024
#: The bound itself is 2 seconds on an idle machine, DERIVLINT_TEST_SLOWNESS=1; a busy one has slower processors, as
#: caches are shared.
SECONDS = 2.0 * float(os.environ.get("DERIVLINT_TEST_SLOWNESS", "3"))
MEGABYTES = 300
EXAMPLE = Path(derivlint.__file__).parent / "examples" / "derivatives.yaml"

#: What nobody writes as a formula, each without a size: it is repeated up to the limit.
HOSTILE: dict[str, tuple[str, str]] = {
    **{f"characters {char!r}": ("", char) for char in "a0 \n\t#&*!|>'\"%@`{}[](),:?-\\<=~^$;./_é€😀\0\x85\u2028\ufeff"},
    **{f"formula of {char!r}": (f"{SIN}'grad ", char) for char in 'a0#&*!|>"%@`{}[](),:?-\\<=~^$;./+_é€😀'},
    **{f"schema of {char!r}": ("- name: 'f(", char) for char in 'a0#&*!|>"{}[](),:?-<=./_é'},
    "anchors": ("", "&a "),
    "anchors of lists": ("", "&a [ "),
    "undefined aliases": ("- a\n", "- *a\n"),
    "nulls": ("", "-\n"),
    "empty strings": ("", "- ''\n"),
    "keys without values": ("- name: sin(Tensor self) -> Tensor\n", "  a:\n"),
    "tags": ("", "- !a b\n"),
    "tabs and dashes": ("", "-\t"),
    "hashes": ("", "# "),
    "suppressions": ("", "# derivlint: ignore[a] b\n"),
    "suppressions of files": (f"{SIN}slef\n", "# derivlint: ignore-file[undefined-name] b\n"),
    "suppressions behind": ("", f"{SIN}slef # derivlint: ignore[undefined-name] b\n"),
    "malformed suppressions": ("", "# derivlint: ignore[\n"),
    "hexadecimal digits": (f"{SIN}grad * 0x", "f"),
    "digits": (f"{SIN}grad * ", "9"),
    "separated digits": (f"{SIN}'grad * 1", "''0"),
    "exponents": (f"{SIN}grad * 1e", "9"),
    "indices": (f"{SIN}grads[", "9"),
    "results": ("- name: sin(Tensor self) -> Tensor\n  result", "9"),
    "sizes in a schema": ("- name: f(Tensor[", "9"),
    "powers": (f"{SIN}grad", ".pow(99)"),
    "powers of powers": (f"{SIN}", "at::pow(99, "),
    "large products": (f"{SIN}grad", " * 9999999999999999999"),
    "shifts": (f"{SIN}grad", " << 62"),
    "lambdas": (f"{SIN}'", "[&]() { return "),
    "statements": (f"{SIN}'[&]() {{ ", "auto x = grad; "),
    "captures": (f"{SIN}'[", "&a = "),
    "angles": (f"{SIN}'", "f<"),
    "closing angles": (f"{SIN}'f<", ">"),
    "comments": (f"{SIN}'grad ", "/* "),
    "lines of comments": (f"{SIN}|\n", "    grad // x\n"),
    "quotes in a formula": (f'{SIN}grad "', '\\"'),
    "casts": (f"{SIN}'", "(Tensor) "),
    "casts of names": (f"{SIN}'", "(a)"),
    "pointers": (f"{SIN}'", "a * b & "),
    "a long name": (f"{SIN}'grad * self.", "a"),
    "long names": (f"{SIN}'grad * f(", "a" * 199 + ", "),
    "names of unicode": (f"{SIN}'grad * ", "é"),
    "plain names": (f"{SIN}'f(", "a, "),
    "undeclared calls": (f"{SIN}'f(", "sni(grad), "),
    "questions": (f"{SIN}'", "grad ? "),
    "arguments with defaults": ("- name: f(Tensor self, ", "int a=0, "),
    "aliased arguments": ("- name: 'f(Tensor(", "a!|"),
    "returns": ("- name: 'f() -> (", "Tensor, "),
    "namespaces": ("- name: ", "a::"),
    "overloads": ("- name: f", ".a"),
    "unknown operators": ("", "- name: f(Tensor a) -> Tensor\n"),
    "misspelt operators": ("", "- name: snn(Tensor self) -> Tensor\n  self: grad\n"),
    "misspelt dispatch keys": (f"{SIN[: SIN.index(chr(10))]}\n  dispatch:\n", "    AutogradCPUU:\n      self: grad\n"),
    "many names": (f"{MUL}grad\n  'self", ", other"),
    "versions": ("version:\n", "- v1.1\n"),
    "merges": ("- &a {}\n", "- <<: *a\n"),
    "merged lists": ("- &a {}\n- <<: [", "*a, "),
    "timestamps": ("", "- 2001-01-01\n"),
    "numbers in base 60": ("- 1", ":1"),
    "escapes": ('- "', "\\x41"),
    "line ends": ("- a", "\r\n"),
    "markers": ("", "---\n"),
    "explicit keys": ("", "? a\n"),
    "percent": ("", "%TAG ! tag:a,2000:\n"),
}


def repeated(before: str, piece: str) -> str:
    return (before + piece * (SIZE // len(piece)))[:SIZE]


def cut(shape: Shape) -> str:
    """The largest text of a shape that is not above the size, or the beginning of the smallest."""
    low, high = 1, 1
    while len(shape(high)) < SIZE and high < SIZE:
        low, high = high, high * 2
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (middle, high) if len(shape(middle)) <= SIZE else (low, middle)
    return shape(low)[:SIZE]


DOCUMENTS: dict[str, Callable[[], str]] = {
    **{f"shape: {name}": partial(cut, shape) for name, shape in SHAPES.items()},
    **{f"hostile: {name}": partial(repeated, *parts) for name, parts in HOSTILE.items()},
    "hostile: laughs": lambda: "\n".join(
        ["- &a0 {name: 'sin(Tensor self) -> Tensor', self: grad}"]
        + [f"- &a{i + 1} [{', '.join([f'*a{i}'] * 9)}]" for i in range(900)]
    ),
}

#: Checks each document of a file of JSON in a process of its own, which begins with everything loaded and, as the
#: command does, never looks for garbage.
CHILD = """
import gc, json, os, resource, sys
from derivlint.lint import Confidence
from derivlint.project.check import check_source
from derivlint.project.settings import Settings
from derivlint.rules import load_rules
from derivlint.schema import load_index
from derivlint.source import SourceFile

gc.disable()
natives = load_index()
settings = Settings(preview=True, min_confidence=Confidence.LOW)
rules = settings.selected(load_rules())
check = lambda text: check_source(SourceFile("derivatives.yaml", text), natives, settings, rules)
check("- name: sin(Tensor self) -> Tensor\\n  self: slef + sni(grad) + grad * self.cos().conj()\\n")
with open(sys.argv[1], encoding="utf-8") as file:
    documents = json.load(file)
for name, text in documents.items():
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
        crashes = check(text).crashes
        os._exit(1 if crashes else 0)
    _, status, used = os.wait4(child, 0)
    print(json.dumps([name, status, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]), flush=True)
"""


#: Those that took longest when all were measured, and one for each limit.
TELLING = (
    "hostile: nulls", "shape: empty entries", "shape: dispatch keys", "hostile: empty strings", "hostile: tags",
    "hostile: merges", "shape: entries without a name", "shape: a long flow mapping",
    "shape: entries that are not mappings", "shape: unknown keys", "shape: tags", "hostile: merged lists",
    "hostile: keys without values", "shape: empty dispatch keys", "shape: different names in a suppression",
    "hostile: unknown operators", "hostile: misspelt operators", "shape: sums in a list", "hostile: timestamps",
    "shape: entries with a broken schema", "shape: nested blocks in entries", "shape: aliases of formulas",
    "shape: chained calls of the transposition", "shape: a product of products", "shape: a product",
    "shape: a quotient", "shape: comparisons", "shape: anchors", "shape: products in a list",
    "shape: nested arguments twice", "shape: brackets", "shape: flow lists", "shape: a long number", "shape: aliases",
    "shape: unclosed quotes", "hostile: laughs", "hostile: powers of powers", "hostile: schema of '('",
    "hostile: misspelt dispatch keys", "hostile: undefined aliases",
)  # fmt: skip


#: On a slow machine a document may take this many times what the shipped example takes in the same run.
TIMES_THE_EXAMPLE = 12


def assert_all_within_bounds(path: Path, names: Collection[str]) -> None:
    documents = {"": EXAMPLE.read_text(encoding="utf-8"), **{name: DOCUMENTS[name]() for name in names}}
    path.write_text(json.dumps(documents), encoding="utf-8")
    found = subprocess.run([sys.executable, "-c", CHILD, str(path)], capture_output=True, text=True, check=True)
    (_, _, example, _), *rows = (json.loads(line) for line in found.stdout.splitlines())
    assert [name for name, *_ in rows] == list(names)
    seconds = max(SECONDS, TIMES_THE_EXAMPLE * example)
    assert [row for row in rows if row[1] != 0 or row[2] >= seconds or row[3] >= MEGABYTES] == []


ONLY_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the memory of a child is counted in KiB only by Linux")


@ONLY_LINUX
def test_what_takes_longest_of_64_kib_does_not_take_long(tmp_path: Path) -> None:
    assert_all_within_bounds(tmp_path / "documents.json", sample(TELLING, 5, always=TELLING[:4]))


@ONLY_LINUX
@pytest.mark.growth
def test_no_other_document_of_64_kib_takes_long(tmp_path: Path) -> None:
    assert_all_within_bounds(
        tmp_path / "documents.json", sample([name for name in DOCUMENTS if name not in TELLING], 14)
    )


LITERALS = (
    *("0x1p3", "0x1.8p1", "0x.8p1", "0b101", "017", "08", "1'000", "1.f", "1e5L", "1ull", "1uz", "'a'", "'ab'", ".5"),
    *("5.", "1e400", "1e-400", "0x", "0xg", "0b", "1e", "1.5.2", "1_000", "1j", "0X1F", "9" * 25, "9" * 5000),
    *("0x" + "f" * 5000, "1." + "0" * 5000, "INFINITY", "NAN", "true", "nullptr", "{}", '""', "18446744073709551616"),
)
FORMS = (
    *("grad * {}", "{} * grad", "grad / {}", "grad + {}", "-{}", "!{}", "grad.pow({})", "self.pow({}) * grad", "{}"),
    *('grad.div({}, "floor")', "at::pow({}, self) * grad", "grad[{}]", "grads[{}]", "grad.sum({})", "f({})"),
    *(
        "std::get<{}>(std::make_tuple(grad, self))",
        "at::polygamma({}, self) * grad",
        "mvlgamma_backward(grad, self, {})",
    ),
    *("grad ? {} : self", "{} ? grad : self", "grad.round({})", "at::ldexp(grad, {})", "at::scalar_tensor({}) * grad"),
    *("std::array<bool, {}>{{true}}", "grad * {} * {} * {}", "{} < grad", "{} == {} ? grad : grad", "{} % 3 * grad"),
)


@pytest.fixture(scope="module")
def rules() -> tuple[Rule, ...]:
    """All rules, those in preview as well."""
    return Settings(preview=True).selected(load_rules())


def assert_no_crash(natives: NativeFunctions, rules: tuple[Rule, ...], text: str) -> None:
    settings = Settings(preview=True, min_confidence=Confidence.LOW)
    checked = check_source(SourceFile("derivatives.yaml", text), natives, settings, rules)
    assert [item.message for item in checked.unfiltered if item.rule == "internal-error"] == []


@pytest.mark.parametrize("literal", LITERALS, ids=lambda text: text[:20])
def test_a_literal_of_any_form_is_judged(
    bundled_natives: NativeFunctions, rules: tuple[Rule, ...], literal: str
) -> None:
    formulas = [form.format(literal, literal, literal).replace("'", "''") for form in FORMS]
    assert_no_crash(bundled_natives, rules, "".join(f"{SIN}'{formula}'\n" for formula in formulas))


#: Functions with arguments that no number stands for: optional lists, lists, numbers, generators, devices.
ODD_ARGUMENTS = (
    "index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    "_index_put_impl_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) "
    "-> Tensor(a!)",
    "_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    "cat(Tensor[] tensors, int dim=0) -> Tensor",
    "stack(Tensor[] tensors, int dim=0) -> Tensor",
    "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
    "clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
    "bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
    "pow.Scalar(Scalar self, Tensor exponent) -> Tensor",
    "_foreach_add.List(Tensor[] self, Tensor[] other, *, Scalar alpha=1) -> Tensor[]",
    "_foreach_addcdiv.ScalarList(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars) -> Tensor[]",
)
VALUES = ("grad", "auto_linear", "auto_element_wise", "indices", "dim", "grad * alpha", "grad.sum(dim)", "{grad, grad}")


@pytest.mark.parametrize("schema", ODD_ARGUMENTS)
def test_a_formula_for_an_argument_of_any_type_is_judged(
    bundled_natives: NativeFunctions, rules: tuple[Rule, ...], schema: str
) -> None:
    arguments = schema[schema.index("(") + 1 : schema.rindex(") -> ")]
    names = [part.partition("=")[0].split()[-1] for part in arguments.split(", ") if part != "*"]
    texts = []
    for value in (*VALUES, *names):
        texts.append("".join(f"  {name}: '{value}'\n" for name in (*names, "result")))
        texts += [f"  {name}: '{value}'\n  result: {name}_t\n" for name in names]
    for text in sample(texts, 8):
        assert_no_crash(bundled_natives, rules, f"- name: '{schema}'\n{text}")
