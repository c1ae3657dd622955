"""The vocabulary of comments, docstrings, messages and documentation: that of PyTorch, compilers and linters."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

#: Unidiomatic phrases and private terms, with replacements.
PHRASES = {
    r"(?<!\bthere )\b(?:is|are) no (?!longer\b|more\b|other\b|such\b|better\b|less\b|worse\b)": "is not a",
    r"\btold\b": "reported, known, passed",
    r"\bmend(?:s|ed|ing)?\b": "fix",
    r"\bbesides\b": "also, in addition to",
    r"\bbehind (?:it|them|the|a|an|its)\b": "after",
    r", (?:\w+ )?of which\b": "whose, that",
    r"\bas (?:it|they) stands?\b": "as written",
    r"\binhabitants?\b": "sample values",
    r"\bworlds?\b": "test point",
    r"(?<!first-)(?<!third-)\bparty\b": "",
    r"\bfloor \d": "layer",
    r"\bsomebody\b": "someone",
    r"\bwithout a word\b": "silently",
    r"\bdies of\b": "fails with",
    r"\ball the same\b": "nevertheless",
}
PATTERN = re.compile("|".join(f"(?:{phrase})" for phrase in PHRASES), re.IGNORECASE)
#: Code in an f-string.
PLACEHOLDER = re.compile(r"\{[^{}]*\}")
#: Fenced blocks in Markdown.
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the comments and strings of a Python file, or the text of a page, with line numbers."""
    text = path.read_text(encoding="utf-8")
    # tokenizing is slow, and few files contain a phrase
    if PATTERN.search(text) is None:
        return
    if path.suffix != ".py":
        yield 1, FENCE.sub(lambda match: "\n" * match[0].count("\n"), text)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            yield token.start[0], PLACEHOLDER.sub("", token.string)


def files() -> Iterator[Path]:
    """The sources, the rules, the tests and the documentation."""
    for folder in ("src/derivlint", "rules", "docs", "fuzz", "benchmarks", "examples", "tests"):
        pages = (path for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".md"))
        yield from sorted(page for page in pages if page != Path(__file__))
    yield from sorted(ROOT.glob("*.md"))


def test_comments_messages_and_docs_use_the_words_of_the_field() -> None:
    """No text contains the phrases; docs/glossary.md has the terms to use."""
    found = [
        f"{path.relative_to(ROOT)}:{line + text.count(chr(10), 0, match.start())}: {' '.join(match[0].split())}"
        for path in files()
        for line, text in prose(path)
        for match in PATTERN.finditer(text)
    ]

    assert found == []
