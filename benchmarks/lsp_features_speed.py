"""How long requests of an editor take, without the connection: on the derivatives.yaml of the installed torch.

    python benchmarks/lsp_features_speed.py

Prints the median and the longest time of each request in milliseconds, over places all over the file.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from measuring import installed_files

from derivlint.lsp.analysis import DocumentAnalysis
from derivlint.lsp.features.completions.completion import completions
from derivlint.lsp.features.completions.formula_completion import signature_help
from derivlint.lsp.features.formatting import format_range
from derivlint.lsp.features.hover import hover
from derivlint.lsp.features.navigation import definition, highlights, references
from derivlint.lsp.features.outline import document_symbols, folds, selections, workspace_symbols
from derivlint.lsp.features.tokens import inlay_hints, semantic_tokens
from derivlint.model import build_model
from derivlint.project.settings import Settings
from derivlint.schema import load_index
from derivlint.source import SourceFile, Span


def main() -> None:
    source = SourceFile.read(installed_files().derivatives)
    natives = load_index()
    real = DocumentAnalysis(
        source=source,
        model=build_model(source, natives),
        checked=None,
        natives=natives,
        native_sources=(),
        headers=(),
        settings=Settings(),
    )
    text = source.text
    offsets = [
        formula.value_span.start + 1
        for body in real.model.bodies()
        for formula in body.formulas
        if formula.is_expression
    ][::5]
    requests: dict[str, Callable[[int], object]] = {
        "hover": lambda offset: hover(real, offset),
        "definition": lambda offset: definition(real, offset),
        "references": lambda offset: references(real, offset),
        "highlights": lambda offset: highlights(real, offset),
        "selections": lambda offset: selections(real, offset),
        "completions": lambda offset: completions(real, text, offset),
        "signature help": lambda offset: signature_help(real, text, offset),
        "inlay hints": lambda offset: inlay_hints(real, Span(offset, offset + 3000)),
        "semantic tokens": lambda offset: semantic_tokens(real, Span(offset, offset + 3000)),
        "formatting": lambda offset: format_range(real, Span(offset, offset + 3000)),
        "document symbols": lambda offset: document_symbols(real),
        "workspace symbols": lambda offset: workspace_symbols(real, "addc"),
        "folds": lambda offset: folds(real),
    }
    for name, request in requests.items():
        request(offsets[0])
        times = []
        for offset in offsets:
            start = perf_counter()
            request(offset)
            times.append(1000 * (perf_counter() - start))
        times.sort()
        print(f"{name:18} median {times[len(times) // 2]:7.2f} ms   longest {times[-1]:7.2f} ms")


if __name__ == "__main__":
    main()
