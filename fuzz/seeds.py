"""What generators begin with: the files of the installed PyTorch where there is one, else the examples of the rules."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from derivlint.rules import load_rules
from derivlint.schema import load_index

EXAMPLES = Path(__file__).parent.parent / "examples"
_SCHEMA = re.compile(r"\w[\w.]*\(.*\) -> .*")


@dataclass(frozen=True)
class Seeds:
    """Texts by what they are.

    Attributes:
        entries: entries of derivatives files, each a list item.
        formulas: formulas, with quotes where the file has them.
        keys: the keys of formulas.
        schemas: schemas of operators.
        natives: entries of files of native functions.
        declarations: C++ declarations.
        operators: names of operators.
        rules: names of rules.
    """

    entries: tuple[str, ...]
    formulas: tuple[str, ...]
    keys: tuple[str, ...]
    schemas: tuple[str, ...]
    natives: tuple[str, ...]
    declarations: tuple[str, ...]
    operators: tuple[str, ...]
    rules: tuple[str, ...]


@cache
def seeds() -> Seeds:
    """The seeds, the same for the same installation."""
    rules = load_rules()
    texts = [text for rule in rules for text in (*rule.valid, *(case.yaml for case in rule.invalid))]
    texts += [path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.rglob("derivatives.yaml"))]
    texts += _read("packaged/autograd/derivatives.yaml")
    entries = tuple(dict.fromkeys(item for text in texts for item in items(text, "- name:")))
    pairs = [match.groups() for entry in entries for match in re.finditer(r"^ +([^:#\n]+): (.+)$", entry, re.MULTILINE)]
    index = load_index()
    schemas = tuple(function.schema_text for function in index.written)
    native_texts = [case.natives for rule in rules for case in rule.invalid if case.natives is not None]
    native_texts += [path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.rglob("my_ops.yaml"))]
    native_texts += _read("packaged/ATen/native/native_functions.yaml")
    return Seeds(
        entries=entries,
        formulas=tuple(dict.fromkeys(value for _, value in pairs if not _SCHEMA.match(value))),
        keys=tuple(dict.fromkeys(key for key, _ in pairs)),
        schemas=schemas,
        natives=tuple(dict.fromkeys(item for text in native_texts for item in items(text, "- func:"))),
        declarations=_declarations(),
        operators=tuple(text.partition("(")[0] for text in schemas),
        rules=tuple(rule.name for rule in rules),
    )


def items(text: str, start: str) -> list[str]:
    """The list items of a text that begin with a key."""
    parts = re.split(rf"^(?={re.escape(start)})", text, flags=re.MULTILINE)
    return [part.rstrip() + "\n" for part in parts if part.startswith(start)]


def _read(name: str) -> list[str]:
    """A file of the installed torchgen, where there is one."""
    spec = find_spec("torchgen")
    if spec is None or spec.origin is None:
        return []
    path = Path(spec.origin).parent / name
    return [path.read_text(encoding="utf-8")] if path.is_file() else []


#: Declarations of every kind that headers of formulas have.
_DECLARATIONS = (
    "Tensor f(const Tensor& grad, const Tensor& self);",
    "at::Tensor g(const at::Tensor& grad, at::IntArrayRef sizes, bool keepdim = false);",
    "std::tuple<Tensor, Tensor> h(std::array<bool, 2> grad_input_mask, const std::optional<Tensor>& weight);",
    "template <typename T, class U = int> T k(T a, std::vector<U> b);",
    "namespace a { inline namespace b { class C : public D { public: C(int x) : x_{x} {} int x() const; int x_; }; } }",
    "enum class E : uint8_t { A = 1, B };",
    "using Mask = std::array<bool, 3>;",
    "typedef int (*callback)(const char*, ...);",
    "TORCH_API inline Tensor operator+(const Tensor& a, const Scalar& b) { return a.add(b); }",
    "static constexpr double kPi = 3.14;",
    'extern "C" int c_function(void);',
    "#define MACRO(x) \\\n  x\n",
    "struct S final { explicit operator bool() const; friend bool operator==(const S&, const S&) = default; };",
    "template <> struct T<int> { static_assert(sizeof(int) == 4); };",
    'auto lambda = [](auto&& x) -> decltype(x) { return R"d(text)d"; };',
    "[[nodiscard]] c10::SymInt m(c10::SymIntArrayRef sizes = {}, ::std::optional<int64_t> dim = ::std::nullopt);",
)


def _declarations() -> tuple[str, ...]:
    found = list(_DECLARATIONS)
    spec = find_spec("torch")
    if spec is not None and spec.origin is not None:
        path = Path(spec.origin).parent / "include/torch/csrc/autograd/FunctionsManual.h"
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            found += [f"{part.strip()};" for part in text.split(";") if 0 < len(part) < 1500]
    return tuple(found)
