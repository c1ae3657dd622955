"""The sources of a derivatives file's operators, and loading them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from derivlint.lint.wording import quoted_list
from derivlint.project.caching.cache import Row, cached
from derivlint.project.caching.functions_on_disk import read_functions
from derivlint.project.errors import InputError, read_file
from derivlint.project.globs import expanded
from derivlint.project.headers import MANUAL, Header, read_bodies, read_headers, with_headers
from derivlint.project.operator_files import (
    MIN_COMPLETE,
    NATIVE_FUNCTIONS,
    files_with_operators,
    is_complete_file,
    tags_beside,
)
from derivlint.project.settings import Settings
from derivlint.project.settings.kinds import PRESETS, Preset, namespace_of
from derivlint.project.untrusted import is_inside, repository_of, require_inside
from derivlint.source import SourceError, SourceFile, read_bytes

if TYPE_CHECKING:
    from derivlint.schema import InstalledTorch, NativeFunction, NativeFunctions, NativeProblem
    from derivlint.schema.index import IndexExtras
    from derivlint.schema.natives import HelperBodies

INSTALLED = "installed"
#: The paths of derivlint's inputs in a PyTorch checkout.
FUNCTIONS_MANUAL = Path("torch/csrc/autograd", MANUAL)
HELPER_BODIES = FUNCTIONS_MANUAL.with_suffix(".cpp")
VERSION_FILE = "version.txt"
#: The reason for using only the operators that a framework's files declare.
OF_FRAMEWORK = "a framework of its own: nothing is known of its operators but their schemas"
#: The folder of a text without one: a path that cannot exist, with no files around it.
NOWHERE = Path(os.devnull, "nowhere")
#: The maximum length of a version.
MAX_VERSION_BYTES = 4096
#: The minimum share of a file's schemas that a release must have to be the release of the file.
MIN_KNOWN_SHARE = 0.95


class Operators(Struct, frozen=True):
    """The sources of the operators for a derivatives file.

    Attributes:
        reason: the reason for this choice, for ``--show-settings``.
        native_functions: the files, in addition to or instead of the bundled index.
        tags: the file of tags, if known.
        functions_manual: PyTorch's own header with the C++ functions that formulas may call, if known.
        headers: more such headers, named by the user.
        bodies: the C++ source with the bodies of such functions, if known.
        foreign: the headers and bodies that a configuration names outside of its repository. Their text is never shown,
            since a configuration could name any file of the machine.
        generators: the generator files with lists of operators: those of a checkout, or of an installed torch that is
            not a bundled release.
        bundled: whether the bundled index is used.
        version: the version of the index or of the installed torch; None for the default index, or if unknown.
        standalone: whether the release is detected from the file itself, see :func:`resolve_release`.
        beside: a complete native_functions.yaml next to a standalone file, with schemas of no bundled release.
        in_checkout: whether the derivatives file is in the checkout of ``functions_manual``.
    """

    reason: str
    native_functions: tuple[Path, ...] = ()
    tags: Path | None = None
    functions_manual: Path | None = None
    headers: tuple[Path, ...] = ()
    bodies: Path | None = None
    foreign: frozenset[Path] = frozenset()
    generators: tuple[Path, ...] = ()
    bundled: bool = False
    version: str | None = None
    standalone: bool = False
    beside: Path | None = None
    in_checkout: bool = False

    def describe(self) -> str:
        """Describe the sources and the reason in one line."""
        parts = [*map(str, self.native_functions)]
        if self.bundled:
            from derivlint.schema.index import available_versions

            parts.insert(0, f"bundled operator index of PyTorch {self.version or available_versions()[-1]}")
        return f"{', '.join(parts)} ({self.reason})"

    @property
    def files(self) -> tuple[Path, ...]:
        """All files to read, those of native functions first."""
        more = (self.tags, self.functions_manual, self.bodies)
        files = (*self.native_functions, *(path for path in more if path is not None))
        beside = () if self.beside is None else (self.beside,)
        return (*files, *self.headers, *self.generators, *beside)

    def describe_facts(self) -> str:
        """Describe the release whose facts are used for the lists of operators in PyTorch's generators.

        Raises:
            InputError: a generator cannot be read.
        """
        from derivlint.operators import Book
        from derivlint.operators.topics import DECOMPOSED, TOPICS

        major, minor = Book(self.version).release
        bundled = f"PyTorch {major}.{minor}"
        lists = _generator_lists(self.generators, use_cache=True)
        if lists is not None:
            missing = [topic for topic in (*TOPICS, DECOMPOSED) if topic not in lists]
            rest = f"; {bundled} for what cannot be read there: {', '.join(missing)}" if missing else ""
            return f"the lists in {self.generators[0].parent}{rest}"
        is_known = self.bundled or self.version is not None
        return f"{bundled}{'' if is_known else ', since the release of the operators is unknown'}"


class LoadedOperators(Struct, frozen=True):
    """Operators with the files that they were read from.

    Attributes:
        natives: the operators.
        sources: the files of native functions and the headers, into which diagnostics may point.
    """

    natives: NativeFunctions
    sources: tuple[SourceFile, ...] = ()


def installed() -> InstalledTorch:
    """Return the files of the installed torch.

    Raises:
        InputError: torch is not installed.
    """
    from derivlint.schema import installed_torch

    torch = installed_torch()
    if torch is None:
        raise InputError("no torch is installed in this Python")
    return torch


def operators_for(folder: Path | None, settings: Settings) -> Operators:
    """Determine the sources of operators and C++ declarations for a derivatives file.

    Args:
        folder: the folder of the derivatives file; None for a text, without files around it.
        settings: the settings for that file.

    Raises:
        InputError: the installed torch is requested and there is none, or the repository is not trusted and a file
            leads out of it.
    """
    operators = _operators_for(folder or NOWHERE, settings)
    bodies = settings.helper_bodies or operators.bodies
    operators = replace(
        operators, headers=settings.headers, bodies=bodies, foreign=_foreign(folder or Path.cwd(), settings)
    )
    if settings.untrusted:
        require_inside(operators.files)
    return operators


def _foreign(folder: Path, settings: Settings) -> frozenset[Path]:
    """The headers and the source that a configuration names outside of its repository."""
    bodies = () if settings.helper_bodies is None else (settings.helper_bodies,)
    named = {"headers": settings.headers, "helper_bodies": bodies}
    configured = [
        path
        for name, paths in named.items()
        if not all(isinstance(origin, str) for origin in settings.origins.get(name, ()))
        for path in paths
    ]
    if not configured:
        return frozenset()
    repository = repository_of(folder)
    return frozenset(path for path in configured if not is_inside(path, repository))


def _operators_for(folder: Path, settings: Settings) -> Operators:
    """Determine the sources of operators: options, configuration, an enclosing checkout, or the bundled index.

    Args:
        folder: the folder of the derivatives file.
        settings: the settings for that file.

    Raises:
        InputError: the installed torch is requested and there is none.
    """
    files = _matched(settings.native_functions)
    if not files and settings.preset is not None:
        files = _beside(folder, PRESETS[settings.preset])
    if settings.torch == INSTALLED:
        torch = installed()
        return Operators(
            f"the installed torch, requested by {settings.operators_from}",
            (torch.native_functions, *(files or _own(folder))),
            settings.tags or torch.tags,
            torch.functions_manual,
            generators=_generators_of(torch),
            version=torch.release,
        )
    if settings.torch is not None:
        reason = f"requested by {settings.operators_from}"
        # the option does not name custom operators
        return Operators(reason, files or _own(folder), settings.tags, bundled=True, version=settings.torch)
    if settings.preset is not None:
        # the files of such a project declare its own operators
        return Operators(f'the preset "{settings.preset}"', files, settings.tags, bundled=True, standalone=True)
    if files:
        reason = f"named by {settings.operators_from}"
        if not settings.pytorch_operators or any(map(is_complete_file, files)):
            return _of_checkout(reason, files, settings, folder)
        reason += "; not a complete native_functions.yaml, so it extends PyTorch's"
        return Operators(reason, files, settings.tags or tags_beside(files), bundled=True, standalone=True)
    if settings.declares_operators and not settings.pytorch_operators:
        return Operators("the entries declare the operators")
    for parent in (folder, *folder.parents):
        native = parent / NATIVE_FUNCTIONS
        if os.path.isfile(native):
            return _of_checkout(f"the PyTorch checkout {parent}", (native,), settings, folder)
    for name, preset in PRESETS.items():
        files = _beside(folder, preset)
        if files:
            reason = f'the preset "{name}", whose files are next to it'
            return Operators(reason, files, settings.tags, bundled=True, standalone=True)
    beside = folder / NATIVE_FUNCTIONS.name
    own = files_with_operators(folder)
    reason = "a text without a folder" if folder is NOWHERE else "no PyTorch checkout around the file"
    return Operators(
        reason + (", which declares operators next to it" if own else ""),
        own,
        settings.tags,
        bundled=True,
        standalone=True,
        beside=beside if os.path.isfile(beside) and is_complete_file(beside) else None,
    )


def resolve_release(
    operators: Operators, source: SourceFile, load: Callable[[Operators], LoadedOperators], use_cache: bool = True
) -> Operators:
    """Resolve the release of a standalone file by its schemas.

    The default release is used unless another one fits better.

    Args:
        operators: the sources of operators for its folder.
        source: the file.
        load: loads operators, with a cache.
        use_cache: whether the release may come from the cache.
    """
    is_unknown = operators.version is None and not operators.bundled
    if not operators.standalone and not is_unknown:
        return operators

    def fits() -> bool:
        """Whether the default release has all schemas of a file with valid YAML."""
        from derivlint.model import entry_names
        from derivlint.model.read import document_of

        return not document_of(source).problems and are_known(entry_names(source))

    def are_known(names: list[str]) -> bool:
        natives = load(operators).natives
        return all(natives.by_schema(name) is not None for name in names)

    def detect() -> list[str | int] | None:
        from derivlint.model import called_functions, entry_names
        from derivlint.operators.detection import detected_release

        names = entry_names(source)
        if not is_unknown and are_known(names):
            return None
        release = detected_release(names, lambda: called_functions(source))
        is_other = release is not None and release.is_other
        return [release.version, release.matched, release.total] if release is not None and is_other else None

    # the cache key: these lines hold the names of entries, and seldom change
    lines = [line for line in source.text.splitlines() if "name" in line]
    if not is_unknown and cached("names", _material("\n".join(lines)), fits, shape=bool, use_cache=use_cache):
        return operators
    text = _material(source.text)
    detected = cached("release", text, detect, shape=(None, Row(str, int, int)), use_cache=use_cache)
    if is_unknown:
        return operators if detected is None else replace(operators, version=str(detected[0]))
    version, n_declared, n_schemas = (
        (None, 0, 1) if detected is None else (str(detected[0]), int(detected[1]), int(detected[2]))
    )
    if operators.beside is not None and n_declared < n_schemas * MIN_KNOWN_SHARE:
        reason = "next to the file, whose schemas match no bundled release"
        tags = operators.tags or tags_beside((operators.beside,))
        beside = (operators.beside,)
        return replace(operators, reason=reason, native_functions=beside, tags=tags, bundled=False, standalone=False)
    if version is None:
        return operators
    # operators that the release lacks may be declared next to the file
    more = () if operators.beside is None or n_declared == n_schemas else (operators.beside,)
    reason = f"{operators.reason}; {n_declared} of its {n_schemas} schemas are of that release"
    return replace(operators, reason=reason, version=version, native_functions=(*operators.native_functions, *more))


def _matched(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Expand paths and patterns; the matches of a pattern are sorted.

    Raises:
        InputError: a pattern matches nothing.
    """
    files: list[Path] = []
    for path in paths:
        text = str(path)
        if not has_magic(text) or os.path.lexists(text):
            files.append(path)
            continue
        matches = expanded(text)
        if not matches:
            raise InputError(f'no file matches "{text}"')
        files += map(Path, matches)
    return tuple(files)


def _material(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _beside(folder: Path, preset: Preset) -> tuple[Path, ...]:
    """Return the files of native functions next to the derivatives files of such a project."""
    return tuple(path for name in preset.native_functions if os.path.isfile(path := folder / name))


def _own(folder: Path) -> tuple[Path, ...]:
    """Return the files next to a derivatives file that declare operators of the project."""
    of_presets = (_beside(folder, preset) for preset in PRESETS.values())
    return next(filter(None, of_presets), ()) or files_with_operators(folder)


def _version_of(checkout: Path) -> str | None:
    """Return the release of a PyTorch checkout from its version.txt (``2.14.0a0``), or None."""
    try:
        text = read_bytes(checkout / VERSION_FILE, VERSION_FILE, MAX_VERSION_BYTES).decode("utf-8")
    except (SourceError, ValueError):
        return None
    match = re.match(r"\d+(?:\.\d+)+", text.strip())
    return match[0] if match else None


def _of_checkout(reason: str, files: tuple[Path, ...], settings: Settings, folder: Path) -> Operators:
    """Return the operators of a checkout: the files, with its tags, header, generators and release."""
    from derivlint.operators.topics import CHECKOUT_FILES

    native = files[0].absolute()
    known_tags = settings.tags or tags_beside(files)
    if native.parts[-len(NATIVE_FUNCTIONS.parts) :] != NATIVE_FUNCTIONS.parts:
        return Operators(reason, files, known_tags)
    checkout = native.parents[len(NATIVE_FUNCTIONS.parts) - 1]
    header, bodies = checkout / FUNCTIONS_MANUAL, checkout / HELPER_BODIES
    return Operators(
        reason,
        files,
        known_tags,
        header if os.path.isfile(header) else None,
        bodies=bodies if os.path.isfile(bodies) else None,
        generators=tuple(path for name in CHECKOUT_FILES if os.path.isfile(path := checkout / name)),
        version=_version_of(checkout),
        in_checkout=os.path.isfile(header) and is_inside(folder, Path(os.path.realpath(checkout))),
    )


def load_operators(operators: Operators, use_cache: bool = True) -> LoadedOperators:
    """Read the operators and their headers.

    Args:
        operators: their sources.
        use_cache: whether to use the cache.

    Raises:
        InputError: a file cannot be read or holds no operators, or there is no bundled index of that version.
    """
    own = [
        replace(header, problems=()) if path in operators.foreign else header
        for path, header in zip(operators.headers, read_headers(operators.headers, use_cache), strict=True)
    ]
    helpers = read_file(operators.bodies) if operators.bodies is not None else None

    @cache
    def bodies() -> HelperBodies | None:
        shown = operators.bodies not in operators.foreign
        return None if helpers is None else read_bodies(helpers, use_cache)._replace(is_shown=shown)

    if operators.bundled and not operators.native_functions:
        alone = with_headers(_load_index(operators.version), None, own).with_bodies(bodies)
        return LoadedOperators(alone, _texts(own, helpers))
    sources = tuple(map(read_file, operators.native_functions))
    tags = read_file(operators.tags) if operators.tags is not None else None
    names = {path: namespace_of(Path(path).name) for path in (source.path for source in sources)}
    namespaces = {path: name for path, name in names.items() if name is not None}
    read = read_functions(sources, tags, namespaces, use_cache)
    if not read.written and sources:
        # otherwise every operator of the derivatives file would be reported as unknown
        files = quoted_list([source.path for source in sources])
        raise InputError("; ".join([f"no native functions in {files}", *map(problem_text, read.problems[:1])]))
    manual = operators.functions_manual
    declared = read_headers([manual], use_cache)[0] if manual is not None else None
    lists = _generator_lists(operators.generators, use_cache)

    def natives(written: Iterable[NativeFunction], version: str | None) -> NativeFunctions:
        combined = _combined(operators, read, written, version, lists)
        return with_headers(combined, declared, own, in_checkout=operators.in_checkout).with_bodies(bodies)

    @cache
    def of_version(name: str) -> NativeFunctions:
        from derivlint.operators.detection import is_older, release_called

        written = [native for native in read.written if native.versions is None or name in native.versions]
        own = release_called(name) if operators.standalone else None
        natives_of_version = natives(written, own or operators.version)
        natives_of_version.is_older = is_older(name)
        return natives_of_version

    every = natives(read.written, operators.version)
    if any(function.versions is not None for function in read.written):
        every.of_version = of_version
    return LoadedOperators(every, (*sources, *_texts(own if declared is None else [declared, *own], helpers)))


def _combined(
    operators: Operators,
    read: NativeFunctions,
    written: Iterable[NativeFunction],
    version: str | None,
    lists: Mapping[str, Sequence[str]] | None,
) -> NativeFunctions:
    """Combine functions of files with those of the bundled release, if they add to it.

    Args:
        operators: their sources.
        read: the contents of the files.
        written: the functions that the files declare.
        version: the release.
        lists: the lists of operators in its generators, if different from the release's.
    """
    from derivlint.schema import NativeFunctions

    written = tuple(written)
    index = _load_index(version) if operators.bundled else None
    are_of_framework = _are_of_framework(operators, written, index)
    if are_of_framework:
        from derivlint.schema.framework import as_framework

        as_framework(written)
        index = None
    known_tags = read.known_tags
    if index is not None:
        index_functions = {(function.namespace, function.func_text): function for function in index.written}
        more = []
        for function in written:
            of_index = index_functions.get((function.namespace, function.func_text))
            if of_index is None:
                more.append(function)
            elif function.has_backend_kernel:
                of_index.has_backend_kernel = True
                of_index.has_autograd_kernel |= function.has_autograd_kernel
        written = (*index.written, *more)
        known_tags = known_tags if known_tags is not None else index.known_tags
    release = index if index is not None else _release_of(read)
    combined = NativeFunctions(
        written,
        problems=read.problems,
        version=version,
        declarations=release.declarations if release is not None else None,
        derivatives=release.derivatives if release is not None else None,
        generator_lists=lists,
        autograd_keys=read.autograd_keys,
        known_tags=known_tags,
        origin=read.origin if index is None else f"{index.origin} and {read.origin}",
    )
    combined.are_of_framework = are_of_framework
    return combined


def _are_of_framework(operators: Operators, written: Sequence[NativeFunction], index: NativeFunctions | None) -> bool:
    """Whether files declare the operators of a framework of its own, so that PyTorch's do not apply."""
    from derivlint.schema.framework import is_framework

    if index is not None:
        return operators.standalone and is_framework(written, index, alone=False)
    is_part = operators.functions_manual is None and len(written) < MIN_COMPLETE
    return is_part and is_framework(written, _load_index(None), alone=True)


def _generators_of(torch: InstalledTorch) -> tuple[Path, ...]:
    """Return the generator files of an installed torch; none for a bundled release, whose lists are known."""
    from derivlint.operators.book import bundled_releases, release_number
    from derivlint.operators.topics import INSTALLED_FILES

    if release_number(torch.release) in bundled_releases():
        return ()
    packages = torch.native_functions.parents[4]
    return tuple(path for name in INSTALLED_FILES if (path := packages / name).is_file())


def _generator_lists(files: Sequence[Path], use_cache: bool) -> Mapping[str, Sequence[str]] | None:
    """Return the lists of operators in a checkout's own generators, or None without generators.

    Raises:
        InputError: a file cannot be read.
    """
    if not files:
        return None
    texts = {path.stem: read_file(path).text for path in files}

    def lists() -> Mapping[str, Sequence[str]]:
        from derivlint.operators.extraction import extract

        return extract(texts).lists

    material = json.dumps(texts, sort_keys=True).encode()
    generator_lists: Mapping[str, Sequence[str]] = cached(
        "generators", material, lists, shape={"*": [str]}, use_cache=use_cache
    )
    return generator_lists


def _texts(headers: Iterable[Header], helpers: SourceFile | None) -> tuple[SourceFile, ...]:
    return (*(header.source for header in headers), *(() if helpers is None else (helpers,)))


def _release_of(natives: NativeFunctions) -> IndexExtras | None:
    """Return the declarations and derivatives of the bundled release, if the operators include all of its own.

    Helpers and derivatives change between releases: those of another one would cause false findings.
    """
    from derivlint.schema.index import extras_beside

    return extras_beside({function.func_text for function in natives.written})


def problem_text(problem: NativeProblem) -> str:
    """Describe a problem in a file of native functions, with its position."""
    line, column = problem.source.position(problem.span.start)
    return f"{problem.source.path}:{line}:{column}: {problem.message}"


def _load_index(version: str | None) -> NativeFunctions:
    from derivlint.operators.history import bundled_versions, load_release

    try:
        return load_release(version)
    except LookupError as error:
        versions = quoted_list(bundled_versions())
        raise InputError(f'no bundled operators of version "{version}"; choose {versions}, or "{INSTALLED}"') from error
