"""Command lines with the files that they find."""

from __future__ import annotations

import re
from random import Random

from derivlint.formats.registry import FORMATS
from fuzz.case import Case
from fuzz.generators import comments, configuration, derivatives, graphs, headers, natives, stored, typed
from fuzz.generators.text import ODD, chance, encoded, mutated
from fuzz.seeds import seeds

FILE = "derivatives.yaml"
NATIVES = "native_functions.yaml"
_ODD_ARGUMENTS = (
    "",
    "-",
    "--",
    "@list.txt",
    "*.yaml",
    "**",
    "[",
    "nowhere.yaml",
    ".",
    "..",
    "--x",
    "-vq",
    "@",
    "a\nb",
    "\x1b[31m",
    "~",
    "@@",
    "-h",
    "\ud800",
)
_OPERATORS = ("sin", "mul", "mul.Tensor", "add", "index", "linear", "nope", "*", "", "_foreach_add")


def case(rng: Random) -> Case:
    """A command line of any command but those that run compilers or servers."""
    files = {FILE: derivatives.file_bytes(rng)}
    if chance(rng, 0.15):
        files["derivlint.toml"] = configuration.configuration_bytes(rng)
    if chance(rng, 0.05):
        files["pyproject.toml"] = configuration.configuration_bytes(rng)
    given: list[str] = []
    if chance(rng, 0.15):
        files[NATIVES] = natives.file_bytes(rng)
        given += ["--native-functions", NATIVES] if chance(rng, 0.8) else []
    if chance(rng, 0.05):
        files["tags.yaml"] = natives.tags_bytes(rng)
        given += ["--tags", "tags.yaml"]
    if chance(rng, 0.1):
        files["own.h"] = headers.header_bytes(rng)
        given += ["--headers", "own.h"]
    if chance(rng, 0.1):
        given += ["--config", configuration.pair(rng)]
    if chance(rng, 0.2):
        given.append("--no-config")
    if chance(rng, 0.03):
        given += ["--torch", rng.choice(("2.13.0", "2.1.2", "9.9", "x", ""))]
    kind = rng.randrange(20)
    if kind < 11:
        arguments, stdin = _check(rng, files)
    else:
        stdin = b""
        arguments = {
            11: _model, 12: _coverage, 13: _show, 14: _derive, 15: _derive, 16: _rules, 17: _index, 18: _python,
            19: _check_ignores,
        }[kind](rng, files)  # fmt: skip
    arguments = [*arguments, *(given if arguments[0] not in ("rule", "rules", "index") else [])]
    if chance(rng, 0.05):
        arguments.insert(rng.randint(0, len(arguments)), rng.choice(_ODD_ARGUMENTS))
    if chance(rng, 0.02):
        at = rng.randrange(len(arguments))
        arguments[at] = mutated(rng, arguments[at], ODD)
    # neither a system nor a shell can pass such arguments
    return Case(tuple(item.replace("\0", "").encode("utf-8", "replace").decode() for item in arguments), files, stdin)


def _check(rng: Random, files: dict[str, bytes]) -> tuple[list[str], bytes]:
    from_stdin = chance(rng, 0.2)
    arguments = ["check", "-" if from_stdin else FILE, "--output-format", rng.choice(sorted(FORMATS))]
    options: tuple[tuple[str, ...], ...] = (
        ("--preview",), ("--no-cache",), ("--min-confidence", "low"), ("--quiet",), ("--verbose",), ("--exit-zero",),
        ("--fix",), ("--fix", "--unsafe-fixes"), ("--diff",), ("--fix-only",), ("--no-ignores",),
        ("--color", "always"), ("--show-settings",), ("--select", rng.choice(seeds().rules)),
        ("--ignore", "missing-*"), ("--extend-select", "ALL"), ("--statistics",), ("--show-files",),
        ("--min-severity", rng.choice(("error", "info", "x"))),
        ("--stdin-filename", rng.choice(("x.yaml", "a\nb", "..", ""))), ("--output-file", "out.txt"),
        ("--fail-level", "error"), ("--select", "ALL"), ("--exclude", rng.choice(("*", "[", "**/x", ""))),
    )  # fmt: skip
    for chosen in rng.sample(options, rng.choice((0, 1, 1, 2, 3))):
        arguments += chosen
    if chance(rng, 0.1):
        files["baseline.json"] = stored.baseline(rng)
        arguments += ["--baseline", "baseline.json", *rng.choice(((), ("--update-baseline",), ("--prune-baseline",)))]
    return arguments, files[FILE] if from_stdin else b""


def _check_ignores(rng: Random, files: dict[str, bytes]) -> list[str]:
    files[FILE] = comments.commented_bytes(rng)
    return ["check", FILE, "--add-ignores", rng.choice(("a reason", "", "x\ny", "# ]"))]


def _model(rng: Random, files: dict[str, bytes]) -> list[str]:
    return ["model", FILE]


def _coverage(rng: Random, files: dict[str, bytes]) -> list[str]:
    arguments = ["coverage", FILE, "--ops", rng.choice(_OPERATORS)]
    arguments += ["--output-format", rng.choice(("table", "json", "markdown"))]
    return arguments + (["--missing", rng.choice(("forward", "backward", "x"))] if chance(rng, 0.2) else [])


def _show(rng: Random, files: dict[str, bytes]) -> list[str]:
    return ["show", rng.choice(_OPERATORS), FILE]


def _derive(rng: Random, files: dict[str, bytes]) -> list[str]:
    if chance(rng, 0.5):
        files[FILE] = b"".join(item.encode() for item in entries_of_graphs())
    arguments = ["derive", graphs.any_graph(rng), FILE, "--wrt", rng.choice(("a", "b", "a,b", "x", "a a", ""))]
    arguments += ["--output-format", rng.choice(("text", "graph", "dot", "svg"))]
    for option in (("--order", rng.choice(("2", "0", "x"))), ("--mode", "forward"), ("--same-shape",)):
        if chance(rng, 0.15):
            arguments += option
    return arguments


def entries_of_graphs() -> list[str]:
    """The real entries of the operators in graphs."""
    names = tuple(
        f"- name: {name}{after}" for name in (*graphs.UNARY, *graphs.BINARY, "sum") for after in ("(", ".Tensor(")
    )
    return [item for item in seeds().entries if item.startswith(names)][:30]


def _rules(rng: Random, files: dict[str, bytes]) -> list[str]:
    if chance(rng, 0.2):
        return ["rules", "--output-format", rng.choice(("text", "json"))]
    name = rng.choice(seeds().rules)
    return [
        "rule",
        mutated(rng, name, ODD) if chance(rng, 0.3) else name,
        "--output-format",
        rng.choice(("text", "json", "markdown")),
    ]


def _index(rng: Random, files: dict[str, bytes]) -> list[str]:
    arguments = ["index", "show", rng.choice(_OPERATORS)]
    if chance(rng, 0.5):
        return arguments
    files[NATIVES] = natives.file_bytes(rng)
    return [*arguments, "--native-functions", NATIVES]


def _python(rng: Random, files: dict[str, bytes]) -> list[str]:
    arguments = ["emit", "python", FILE, "--out", "emitted.py"]
    return [*arguments, *(option for option in ("--force", "--register", "--check") if chance(rng, 0.3))]


def new_bytes(rng: Random) -> bytes:
    """``new`` and ``derive`` with schemas and expressions of their types, by the real entries of some operators."""
    files = {FILE: "".join(entries_of_graphs()).encode()}
    schema = rng.choice(seeds().schemas)
    expression = typed.expression_bytes(rng).decode()
    if chance(rng, 0.4):
        arguments = ["derive", expression, FILE, "--wrt", rng.choice(("x", "y", "x,y"))]
    elif chance(rng, 0.5):
        arguments = ["new", mutated(rng, schema, ODD) if chance(rng, 0.2) else schema, FILE]
    else:
        arguments = ["new", rng.choice(("my_op", "sin", "my_op.Tensor")), FILE, "--forward", expression]
        arguments += [option for option in ("--inline", "--complex", "--same-shape") if chance(rng, 0.3)]
    if chance(rng, 0.2):
        arguments += ["--non-differentiable", rng.choice(("x", "self", "0", ""))]
    return _command(arguments, files)


def suggest_bytes(rng: Random) -> bytes:
    """``suggest`` for entries of the release with small edits, and for typed ones."""
    entries = [_slipped(rng, rng.choice(seeds().entries)) if chance(rng, 0.6) else typed.entry(rng) for _ in range(2)]
    arguments = ["suggest", FILE]
    operators = [re.split("[(\\s]", entry.removeprefix("- name: "))[0] for entry in entries]
    if chance(rng, 0.3):
        key = rng.choice(("", "", ":self", ":result", ":", ":x", "::"))
        arguments.insert(1, rng.choice((*operators, *_OPERATORS)) + key)
    if chance(rng, 0.3):
        arguments += ["--missing", rng.choice(("backward", "forward", "double-backward", "x"))]
    for option in (("--diff",), ("--write",), ("--output-format", "json"), ("--torch", "2.6.0")):
        if chance(rng, 0.2):
            arguments += option
    return _command(arguments, {FILE: "".join(entries).encode("utf-8", "replace")})


def _slipped(rng: Random, entry: str) -> str:
    """An entry with an edit of a token of a formula, or without one of its formulas."""
    head, *lines = entry.splitlines(keepends=True)
    if not lines:
        return entry
    at = rng.randrange(len(lines))
    if chance(rng, 0.2):
        del lines[at]
        return head + "".join(lines)
    tokens = re.findall(r"\w+|\W", lines[at])
    place = rng.randrange(len(tokens))
    tokens[place] = rng.choice(("", "-", "+", "*", "2", "grad", "self", "result", "!", *tokens))
    lines[at] = "".join(tokens)
    return head + "".join(lines)


def run_bytes(rng: Random) -> bytes:
    """The arguments of ``run`` and of its program."""
    before = [FILE, "--compare", "--watch", "--quiet", "-q", "--ops", "sin", "--helpers", "own.cpp", "--compiler", "cc"]
    after = ["-m", "-c", "pass", "train.py", "--", "--ops", "-", "--compare", "x.y"]
    arguments = rng.choices((*before, *_ODD_ARGUMENTS), k=rng.randrange(5))
    if chance(rng, 0.8):
        arguments += ["--", *rng.choices((*after, *_ODD_ARGUMENTS), k=rng.randrange(4))]
    return _command(["run", *arguments], {FILE: b"[]\n", "train.py": b"", "own.cpp": b""})


def _command(arguments: list[str], files: dict[str, bytes]) -> bytes:
    # neither a system nor a shell can pass such arguments
    return Case(
        tuple(item.replace("\0", "").encode("utf-8", "replace").decode() for item in arguments), files
    ).encoded()


def case_bytes(rng: Random) -> bytes:
    """A command line."""
    return case(rng).encoded()


def emission_bytes(rng: Random) -> bytes:
    """``emit cpp`` into a folder that holds other things, with a manifest that may name them."""
    files = {
        FILE: "".join(item for item in rng.sample(entries_of_graphs(), 1)).encode() or b"[]\n",
        "out/sub/own.txt": b"mine",
    }
    if chance(rng, 0.5):
        files["out/CMakeLists.txt"] = b"mine"
    if chance(rng, 0.8):
        files["out/derivlint.json"] = stored.manifest(
            rng, ("CMakeLists.txt", "nodes.h", "nodes_0.cpp", "kernels_0.cpp")
        )
    if chance(rng, 0.2):
        files[FILE] = derivatives.file_bytes(rng)
    arguments = [
        "emit",
        "cpp",
        FILE,
        "--out",
        "out",
        *rng.choice(((), ("--force",), ("--mode", "in-tree"), ("--check",))),
    ]
    return Case(tuple(arguments), files).encoded()


def process_bytes(rng: Random) -> bytes:
    """A command line for a process of its own, which also gets bytes that cannot be decoded."""
    made = case(rng)
    files = dict(made.files)
    if chance(rng, 0.2):
        files[FILE] = encoded(rng, derivatives.file(rng, entries=4))
    return Case(made.arguments, files, made.stdin).encoded()
