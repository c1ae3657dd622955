"""The layers of derivlint, derived from the imports of its packages.

``python -m tests.layers`` writes the picture into ARCHITECTURE.md. The test fails if an import changes it, until the
picture is rewritten.
"""

from __future__ import annotations

import ast
import sys
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import derivlint

ROOT = Path(derivlint.__file__).parent
REPOSITORY = Path(__file__).parent.parent
ARCHITECTURE = REPOSITORY / "ARCHITECTURE.md"
BEGIN, END = "<!-- layers: python -m tests.layers -->\n", "<!-- end of layers -->\n"
WIDTH = 120


def folder_of(package: str) -> Path:
    """The folder of a package; grammars and rules are at the top of the repository."""
    return REPOSITORY / package if package in ("grammar", "rules") else ROOT / package


def packages() -> list[str]:
    """The packages of derivlint."""
    return sorted({path.parent.name for path in ROOT.glob("*/__init__.py")} | {"grammar", "rules"})


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """The statements and expressions of a file."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def imports(path: Path) -> tuple[tuple[int, str], ...]:
    """Yield all imports of a file, line and module, including those in functions and for type checkers."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    for node in nodes(path):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.lineno, node.module
            # the imported name may be a module
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def package_imports() -> dict[str, set[str]]:
    """The packages that each package imports."""
    every = packages()
    found: dict[str, set[str]] = {}
    for package in every:
        files = folder_of(package).glob("**/*.py")
        parts = (module.split(".") for path in files for _, module in imports(path))
        found[package] = {each[1] for each in parts if each[0] == "derivlint" and len(each) > 1} & set(every)
        found[package].discard(package)
    return found


def levels(graph: dict[str, set[str]]) -> dict[str, int]:
    """The level of each node: one above the highest node that it needs, 1 if it needs none.

    Raises:
        ValueError: the graph has a cycle.
    """
    found: dict[str, int] = {}
    while len(found) < len(graph):
        free = [name for name in graph if name not in found and graph[name] <= found.keys()]
        if not free:
            raise ValueError(f"a cycle among {sorted(graph.keys() - found.keys())}")
        found |= {name: max((found[other] for other in graph[name]), default=0) + 1 for name in free}
    return found


def module_imports() -> dict[str, set[str]]:
    """The modules that each module imports, including imports for type checkers only."""
    modules = {}
    for path in (*ROOT.glob("**/*.py"), *(REPOSITORY / "grammar").glob("*.py"), *(REPOSITORY / "rules").glob("*.py")):
        inside = path.is_relative_to(ROOT)
        parts = ("derivlint", *path.relative_to(ROOT if inside else REPOSITORY).with_suffix("").parts)
        modules[".".join(parts).removesuffix(".__init__")] = path
    found: dict[str, set[str]] = {}
    for name, path in modules.items():
        wanted = {item for _, item in imports(path) if item in modules}
        # "from package import module" does not import the package's own names
        inner = {item.rpartition(".")[0] for item in wanted if modules[item].name != "__init__.py"}
        named = {module for _, module in imports(path)}
        found[name] = {
            item for item in wanted - {name} if item not in inner or any(_offers(item, each, modules) for each in named)
        }
    return found


def _offers(package: str, imported: str, modules: dict[str, Path]) -> bool:
    """Whether an import takes a name from a package itself."""
    return imported.startswith(f"{package}.") and "." not in imported[len(package) + 1 :] and imported not in modules


def picture() -> str:
    """The layers, top first: each package with its purpose and its imports."""
    graph = package_imports()
    level = levels(graph)
    lines = []
    for number in range(max(level.values()), 0, -1):
        for index, package in enumerate(sorted(name for name in level if level[name] == number)):
            head = f"{number if not index else '':>2}  {package:12}"
            docstring = ast.get_docstring(ast.parse((folder_of(package) / "__init__.py").read_text(encoding="utf-8")))
            assert docstring is not None
            indent = " " * len(head)
            lines += textwrap.wrap(docstring.partition("\n")[0], WIDTH, initial_indent=head, subsequent_indent=indent)
            if graph[package]:
                uses = f"uses {', '.join(sorted(graph[package]))}"
                lines += textwrap.wrap(uses, WIDTH, initial_indent=indent + "  ", subsequent_indent=indent + "    ")
    return "```text\n" + "\n".join(lines) + "\n```\n"


def with_picture(text: str) -> str:
    """The text of ARCHITECTURE.md with the current picture."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}{picture()}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    ARCHITECTURE.write_text(with_picture(ARCHITECTURE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.exit(0)
