"""The C++ API of PyTorch that emitted code is written against, as it changed from release to release.

Templates and types are written in the words of the newest release; :meth:`Release.spelled` puts them into those of an
older one. What differs by more than a word is a field, which says what the API of that release is like. All of it was
read off the headers that the wheels of these releases ship.
"""

from __future__ import annotations

import re
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from derivlint.cpp.types import DeclaredType, declared_type
from derivlint.emit.template import fill, load
from derivlint.schema import available_versions

INTRUSIVE = "c10::intrusive_ptr"
SHARED = "std::shared_ptr"
OPTIONAL = "std::optional"
STRING_VIEW = "std::string_view"
_VERSION = re.compile(r"v?(\d+)\.(\d+)(?!\d)")


class UnsupportedRelease(Exception):  # noqa: N818 - no mistake in the code, a fact about the release
    """Code cannot be emitted for this release of PyTorch."""


class Release(Struct, frozen=True):
    """The API of a release and of those that follow it, up to the next one in :data:`RELEASES`.

    Attributes:
        since: the first release, as major and minor version.
        standard: the C++ standard that extensions of it are compiled with (torch/utils/cpp_extension.py).
        optional: the class of absent values (c10/util/Optional.h). It was one of PyTorch's own; from 2.2 on
            ``c10::optional`` is another name of ``std::optional``.
        string_view: what formulas are given for text that a node keeps (c10/util/string_view.h); from 2.6 on
            ``c10::string_view`` is another name of ``std::string_view``.
        node_pointer: what owns a node (torch/csrc/autograd/function.h, node.h).
        sets_history_of_const: whether the history of a ``const Tensor&`` can be set
            (torch/csrc/autograd/functions/utils.h, VariableTypeUtils.h).
        collects_outputs: whether compiled autograd is passed which saved variables are outputs of their node
            (torch/csrc/dynamo/compiled_autograd.h, ``CompiledNodeArgs::collect``).
        traces_gradients: whether compiled autograd calls the gradients of a node as a function of what was saved
            (``bind_function``); before, it ran ``apply`` with what was saved replaced.
        fires_creation_hooks: whether kernels tell the hooks of ``torch.autograd.graph`` about a node when it is
            complete, and ``rebase_history`` returns the node that they are called with (node.h).
        declares_inverse_mode: whether ``InverseReturnMode`` is declared in another header than that of the inverses of
            views, which packages leave out (ATen/FunctionalStorageImpl.h).
        counts_python_objects: whether a tensor's object in Python counts as a use of it.
    """

    since: tuple[int, int]
    standard: str
    optional: str
    string_view: str
    node_pointer: str
    sets_history_of_const: bool
    collects_outputs: bool
    traces_gradients: bool
    fires_creation_hooks: bool
    declares_inverse_mode: bool = False
    counts_python_objects: bool = False

    def __str__(self) -> str:
        """The first release: ``2.13``."""
        return f"{self.since[0]}.{self.since[1]}"

    def spelled(self, text: str) -> str:
        """C++ of the newest release in the words of this one: types and templates, never what a user wrote."""
        if self.node_pointer != INTRUSIVE:
            text = text.replace(INTRUSIVE, self.node_pointer)
        if self.string_view != STRING_VIEW:
            text = text.replace(STRING_VIEW, self.string_view)
        if self.optional != OPTIONAL:
            namespace = self.optional.removesuffix("optional")
            for name in ("optional", "nullopt"):
                text = text.replace(f"::std::{name}", namespace + name).replace(f"std::{name}", namespace + name)
        return text

    @property
    def own_uses(self) -> str:
        """The number of uses of a new ``result`` as C++."""
        if not self.counts_python_objects:
            return "1"
        return "(result.unsafeGetTensorImpl()->pyobj_slot()->load_pyobj() == nullptr ? 1 : 2)"

    def adapted_type(self, type: DeclaredType) -> DeclaredType:
        """A type of the newest release in the words of this one."""
        return declared_type(self.spelled(str(type)))

    def template(self, name: str) -> str:
        """The template of that name in the words of this release."""
        return _template(self, name)

    def new_node(self, node: str, arguments: str) -> str:
        """The expression that makes a node.

        Args:
            node: its class.
            arguments: what its constructor takes.
        """
        if self.node_pointer == INTRUSIVE:
            return f"c10::make_intrusive<{node}>({arguments})"
        # a chain of nodes is deleted one after the other, not in a recursion that is as deep as the graph
        return f"{self.node_pointer}<{node}>(new {node}({arguments}), deleteNode)"


@cache
def _template(release: Release, name: str) -> str:
    return release.spelled(load(name))


def filled(release: Release, name: str, /, **parts: str) -> str:
    """The template ``<name>.cpp`` in the words of a release, with its placeholders filled."""
    return fill(release.template(f"{name}.cpp"), **parts)


_2_1 = Release(
    since=(2, 1),
    standard="c++17",
    optional="c10::optional",
    string_view="c10::string_view",
    node_pointer=SHARED,
    sets_history_of_const=False,
    collects_outputs=False,
    traces_gradients=False,
    fires_creation_hooks=False,
)
_2_2 = replace(_2_1, since=(2, 2), optional=OPTIONAL)
_2_3 = replace(_2_2, since=(2, 3), sets_history_of_const=True)
_2_5 = replace(_2_3, since=(2, 5), collects_outputs=True)
_2_6 = replace(_2_5, since=(2, 6), string_view=STRING_VIEW)
_2_7 = replace(_2_6, since=(2, 7), traces_gradients=True)
_2_9 = replace(_2_7, since=(2, 9), declares_inverse_mode=True)
_2_10 = replace(_2_9, since=(2, 10), counts_python_objects=True)
_2_12 = replace(_2_10, since=(2, 12), standard="c++20")
_2_13 = replace(_2_12, since=(2, 13), node_pointer=INTRUSIVE)
_2_14 = replace(_2_13, since=(2, 14), fires_creation_hooks=True)

#: The releases whose API differs from that of the release before, oldest first.
RELEASES = (_2_1, _2_2, _2_3, _2_5, _2_6, _2_7, _2_9, _2_10, _2_12, _2_13, _2_14)
OLDEST = RELEASES[0]
NEWEST = RELEASES[-1]
#: The default for an unknown release: the one whose operators are bundled.
DEFAULT = _2_13


@cache
def number_of(version: str | None) -> tuple[int, int]:
    """The major and minor number of a version of PyTorch, ``2.13.0+cpu``.

    Args:
        version: as PyTorch prints it; None if it is not known. What is not a version is taken for the newest
            release.
    """
    if version is None:
        return DEFAULT.since
    match = _VERSION.match(version)
    return NEWEST.since if match is None else (int(match[1]), int(match[2]))


def known_number(version: str | None) -> tuple[int, int] | None:
    """The major and minor number of a version of PyTorch, or None if it has none."""
    match = _VERSION.match(version or "")
    return None if match is None else (int(match[1]), int(match[2]))


def target_version(version: str | None) -> str:
    """The version that code is emitted for, which is that of the bundled operators where none is known."""
    return version or available_versions()[-1]


def version_warning(version: str | None) -> str | None:
    """Return the warning about code for a version whose API is not known, else None.

    Args:
        version: as :func:`number_of` takes it.
    """
    if version is None:
        return None
    number = known_number(version)
    if number is None:
        return f'"{version}" is not a version of PyTorch: the code is written for the C++ API of PyTorch {NEWEST}'
    if number > NEWEST.since:
        newest = f"{NEWEST}, the newest release whose C++ API is known"
        return f"PyTorch {version} is newer than {newest}: the code is written for the API of {NEWEST}"
    return None


def release_of(version: str | None) -> Release:
    """The API of a version of PyTorch; one that is newer than the table is taken to have that of the newest release.

    Args:
        version: as :func:`number_of` takes it.

    Raises:
        UnsupportedRelease: it is older than the oldest release in the table.
    """
    number = number_of(version)
    if number < OLDEST.since:
        raise UnsupportedRelease(
            f'code cannot be emitted for PyTorch "{version}": the oldest release it can be emitted for is {OLDEST}'
        )
    return next(release for release in reversed(RELEASES) if release.since <= number)
