"""What tests of the language server's features share: the analysis of a text with a mark for the cursor."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from msgspec.structs import replace

from derivlint.lsp.analysis import DocumentAnalysis
from derivlint.model import build_model
from derivlint.project.settings import Settings
from derivlint.schema import NativeFunctions, load_index, read_native_functions
from derivlint.source import SourceFile, Span

CURSOR = "§"

#: Two entries with everything that features look at.
MUL = """\
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: mul_tensor_backward(grad, other, self.scalar_type())
  other: mul_tensor_backward(grad, self, other.scalar_type())
  result: other_t * self_p + self_t * other_p
"""
SORT = """\
- name: sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)
  output_differentiability: [True, False]
  self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), true)
  values: gather_with_keepdimed_indices(self_t, dim, indices, true)
"""


@cache
def index() -> NativeFunctions:
    """The operators of the bundled index."""
    return load_index()


def analysis_of(text: str, natives: NativeFunctions | None = None) -> DocumentAnalysis:
    """The analysis of a text."""
    natives = natives if natives is not None else index()
    source = SourceFile("derivatives.yaml", text)
    model = build_model(source, natives)
    return DocumentAnalysis(
        source=source, model=model, checked=None, natives=natives, native_sources=(), headers=(), settings=Settings()
    )


def at(text: str, place: str) -> tuple[DocumentAnalysis, int]:
    """The analysis of a text, and a place in it: a part of the text with the mark in it."""
    before, after = place.split(CURSOR)
    return analysis_of(text), text.index(before + after) + len(before)


def in_checkout(folder: Path, text: str, native: str, header: str = "", cpp: str = "") -> DocumentAnalysis:
    """The analysis of a text against files: operators, and a header with the source beside it."""
    yaml = folder / "native_functions.yaml"
    yaml.write_text(native, encoding="utf-8")
    manual = folder / "FunctionsManual.h"
    manual.write_text(header, encoding="utf-8")
    manual.with_suffix(".cpp").write_text(cpp, encoding="utf-8")
    source = SourceFile.read(yaml)
    analysis = analysis_of(text, read_native_functions([source]))
    return replace(analysis, native_sources=(source,), headers=(manual,))


def texts(analysis: DocumentAnalysis, spans: tuple[Span, ...]) -> list[str]:
    """The text of ranges of the file."""
    return [analysis.source.slice(span) for span in spans]
