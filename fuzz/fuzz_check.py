"""Coverage-guided fuzzing of everything that reads what users write; an exception, a crash of a rule or a hang ends it.

    pip install atheris
    python fuzz/fuzz_check.py TARGET [CORPUS...] [-max_total_time=600] [-timeout=20]

TARGET is ``check`` (YAML as bytes), ``fix``, ``formula``, ``schema``, ``configuration`` or ``comments``. Without a
corpus, the examples of the rules are the seeds. What is found belongs into ``tests/test_robustness.py``.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["derivlint"]):
    from derivlint.formula import parse_formula
    from derivlint.project.check import check_source
    from derivlint.project.fixing import fix_source
    from derivlint.project.settings import ConfigurationError, Settings
    from derivlint.project.settings.document import Notes
    from derivlint.project.settings.reading import OWN_FILE, read_document, read_settings
    from derivlint.rules import load_rules
    from derivlint.schema import SchemaError, load_index, parse_schema
    from derivlint.source import SourceFile

NATIVES = load_index()
RULES = Settings(preview=True).selected(load_rules())
FOLDER = Path(tempfile.mkdtemp(prefix="derivlint-fuzz-"))
#: What comments are put behind and above.
COMMENTED = "# {0}\n- name: sin(Tensor self) -> Tensor # {0}\n  # {0}\n  self: grad * slef # {0}\n"


def check(data: bytes) -> None:
    """Check a file."""
    checked = check_source(SourceFile.from_bytes("derivatives.yaml", data), NATIVES, Settings(), RULES)
    assert not checked.crashes, [item.message for item in checked.found if item.rule == "internal-error"]


def fix(data: bytes) -> None:
    """Fix a file, and check what came of it."""
    source = SourceFile.from_bytes("derivatives.yaml", data)
    fixed = fix_source(source, lambda text: check_source(text, NATIVES, Settings(), RULES), unsafe=True)
    if fixed.changed:
        check(fixed.text.encode("utf-8"))


def formula(data: bytes) -> None:
    """Parse a formula."""
    parsed = parse_formula(data.decode("utf-8", "replace"))
    assert parsed.tree is not None or parsed.problems


def schema(data: bytes) -> None:
    """Parse a schema, print it and parse that."""
    try:
        parsed = parse_schema(data.decode("utf-8", "replace"))
    except SchemaError:
        return
    assert str(parse_schema(str(parsed))) == str(parsed)


def configuration(data: bytes) -> None:
    """Read a configuration."""
    path = FOLDER / OWN_FILE
    path.write_bytes(data)
    try:
        document = read_document(path, Notes())
        if document is not None:
            read_settings(document)
    except ConfigurationError:
        return


def comments(data: bytes) -> None:
    """Check a file with comments of that text."""
    check(COMMENTED.format(data.decode("utf-8", "replace")).encode("utf-8", "replace"))


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target for target in (check, fix, formula, schema, configuration, comments)
}


def seeds(target: str) -> Iterator[bytes]:
    """What a target begins with."""
    texts = [text for rule in RULES for text in (*rule.valid, *(case.yaml for case in rule.invalid))]
    if target in ("check", "fix"):
        yield from (text.encode("utf-8", "replace") for text in texts)
        return
    if target == "configuration":
        yield b'select = ["ALL"]\nseverity = { undefined-name = "info" }\npreset = "torch_npu"\n'
        return
    if target == "comments":
        yield b"derivlint: ignore[undefined-name, unknown-key] a reason"
        yield b"derivlint: ignore-file[undefined-name]"
        return
    for text in texts:
        for line in text.splitlines():
            key, colon, value = line.partition(": ")
            if colon and (key.strip() == "- name") == (target == "schema"):
                yield value.encode("utf-8", "replace")


def main() -> None:
    """Fuzz the target that the command line names."""
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        raise SystemExit(__doc__)
    target = sys.argv.pop(1)
    if all(argument.startswith("-") for argument in sys.argv[1:]):
        corpus = Path(tempfile.mkdtemp(prefix=f"derivlint-corpus-{target}-"))
        for number, seed in enumerate(seeds(target)):
            (corpus / f"{number:05}").write_bytes(seed)
        sys.argv.append(str(corpus))
    atheris.Setup(sys.argv, TARGETS[target])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
