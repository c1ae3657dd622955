"""The names in C++ namespaces, determined by a compiler, including names without a declaration that derivlint reads.

A using-declaration tries each word of the headers in each namespace: if it compiles, the namespace has the name.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from derivlint.compiler.gxx import CompilerError, Toolchain, compile_command, run
from derivlint.formula.vocabulary import words as words_of

FORMAT = 1
#: The searched namespaces; "" is the global one.
NAMESPACES = (
    "",
    "at",
    "at::native",
    "c10",
    "std",
    "torch",
    "torch::autograd",
    "torch::autograd::generated",
    "torch::autograd::generated::details",
)
_HEADERS = """\
#include <ATen/ATen.h>
#include <ATen/NestedTensorImpl.h>
#include <ATen/RedispatchFunctions.h>
#include <ATen/SparseCsrTensorUtils.h>
#include <torch/csrc/autograd/FunctionsManual.h>
#include <torch/csrc/autograd/VariableTypeUtils.h>
#include <torch/csrc/autograd/generated/VariableType.h>
"""
#: An identifier, except those reserved for the standard library, such as "__x" and "_X".
_WORD = re.compile(r"\b(?!_[A-Z_])[A-Za-z_]\w*\b")
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_ERROR = re.compile(r"^names:(\d+):\d+: error: ([^\n]*)$", re.MULTILINE)
_MACRO = re.compile(r"^#define ([A-Za-z_]\w*) (\S[^\n]*)$", re.MULTILINE)
_CONSTANT = re.compile(
    r"(M|U?INT\d*|U?L?LONG|FLT|L?DBL|S?CHAR|SHRT|SIZE|PTRDIFF|RAND)_|(HUGE_VALF?|INFINITY|NAN|NULL|EOF)$"
)
#: Keywords, which make a using-declaration a syntax error.
_KEYWORDS = words_of(
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class "
    "co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype "
    "default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int "
    "long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template "
    "this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t "
    "while xor xor_eq "
)


def tabulate_names(
    toolchain: Toolchain, progress: Callable[[int, int], None] = lambda done, total: None
) -> dict[str, Any]:
    """Tabulate the names of each namespace, its inner namespaces, and the macros for constants.

    Raises:
        CompilerError: the compiler fails.
    """
    candidates = _words(toolchain)
    macros = _macros(toolchain)
    names: dict[str, list[str]] = {}
    inner: dict[str, list[str]] = {}
    for number, namespace in enumerate(NAMESPACES):
        names[namespace], inner[namespace] = names_of(toolchain, namespace, candidates)
        progress(number + 1, len(NAMESPACES))
    # namespace at has a using-directive for c10
    names["at"] = sorted(set(names["at"]) - set(names["c10"]))
    return {
        "format": FORMAT,
        "macros": " ".join(macros),
        "names": {namespace: " ".join(words) for namespace, words in names.items()},
        "namespaces": {namespace: " ".join(words) for namespace, words in inner.items()},
    }


def _preprocess(toolchain: Toolchain, *arguments: str) -> str:
    with tempfile.TemporaryDirectory(prefix="derivlint-") as name:
        folder = Path(name)
        (folder / "headers.cpp").write_text(_HEADERS, encoding="utf-8")
        done = run(compile_command(toolchain, "-E", *arguments, "headers.cpp"), folder)
    if done.status:
        raise CompilerError(f"the headers cannot be read: {done.stderr[:2000]}")
    return done.stdout


def _words(toolchain: Toolchain) -> list[str]:
    text = _STRING.sub("", _preprocess(toolchain, "-P"))
    return sorted(word for word in set(_WORD.findall(text)) - _KEYWORDS)


def _macros(toolchain: Toolchain) -> list[str]:
    """Return the macros without parameters for constants: mathematical constants and limits of types."""
    return sorted({name for name, _ in _MACRO.findall(_preprocess(toolchain, "-dM")) if _CONSTANT.match(name)})


def names_of(toolchain: Toolchain, namespace: str, words: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the words that are names in a namespace, and those that are inner namespaces.

    Raises:
        CompilerError: the compiler fails, or no word is a name.
    """
    lines = "\n".join(f"using {namespace}::{word};" for word in words)
    source = f'{_HEADERS}namespace derivlint_probe {{\n#line 1 "names"\n{lines}\n}}\n'
    with tempfile.TemporaryDirectory(prefix="derivlint-") as name:
        folder = Path(name)
        (folder / "names.cpp").write_text(source, encoding="utf-8")
        options = (*toolchain.compiler.reading, "-w")
        done = run(compile_command(toolchain, *options, "names.cpp"), folder)
    refused: dict[int, str] = {}
    for line, message in _ERROR.findall(done.stderr):
        refused.setdefault(int(line), message)
    named, inner = [], []
    for number, word in enumerate(words, 1):
        if number not in refused:
            named.append(word)
        elif "may not name namespace" in refused[number]:
            inner.append(word)
    if not named:
        raise CompilerError(f"the names of {namespace or '::'} cannot be read: {done.stderr[:2000]}")
    return named, inner


def render_names(content: dict[str, Any]) -> bytes:
    """Render the bundled table, one namespace a line."""
    return (json.dumps(content, indent=0, sort_keys=True) + "\n").encode("ascii")
