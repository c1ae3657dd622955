"""The C++ API of each PyTorch release for emitted code.

Templates and types use the names of the newest release; :meth:`Release.spelled` translates them to an older one.
Differences beyond names are fields of the release. All facts were taken from the headers in the wheels of these
releases.
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
    """Code cannot be emitted for the release of PyTorch."""


class Release(Struct, frozen=True):
    """The API of a release and of those that follow it, up to the next one in :data:`RELEASES`.

    Attributes:
        since: the first release, as major and minor version.
        standard: the C++ standard of its extensions (torch/utils/cpp_extension.py).
        optional: the optional class (c10/util/Optional.h). From 2.2 on ``c10::optional`` is an alias of
            ``std::optional``.
        string_view: the type of saved strings in formulas (c10/util/string_view.h); from 2.6 on ``c10::string_view`` is
            an alias of ``std::string_view``.
        node_pointer: the owning pointer of a node (torch/csrc/autograd/function.h, node.h).
        sets_history_of_const: whether the history of a ``const Tensor&`` can be set
            (torch/csrc/autograd/functions/utils.h, VariableTypeUtils.h).
        collects_outputs: whether compiled autograd needs to know which saved variables are outputs of their node
            (torch/csrc/dynamo/compiled_autograd.h, ``CompiledNodeArgs::collect``).
        traces_gradients: whether compiled autograd calls a function of the saved values (``bind_function``); before, it
            ran ``apply`` with the saved values replaced.
        fires_creation_hooks: whether kernels call the hooks of ``torch.autograd.graph`` with a complete node, and
            ``rebase_history`` returns that node (node.h).
        declares_inverse_mode: whether ``InverseReturnMode`` is declared outside of the header of view inverses, which
            wheels omit (ATen/FunctionalStorageImpl.h).
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
        """Translate C++ of the newest release to this one: types and templates, never user text."""
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
        """The use count of a new ``result`` as C++."""
        if not self.counts_python_objects:
            return "1"
        return "(result.unsafeGetTensorImpl()->pyobj_slot()->load_pyobj() == nullptr ? 1 : 2)"

    def adapted_type(self, type: DeclaredType) -> DeclaredType:
        """Translate a type of the newest release to this one."""
        return declared_type(self.spelled(str(type)))

    def template(self, name: str) -> str:
        """The template with a name, translated to this release."""
        return _template(self, name)

    def new_node(self, node: str, arguments: str) -> str:
        """The expression that creates a node.

        Args:
            node: its class.
            arguments: the arguments of its constructor.
        """
        if self.node_pointer == INTRUSIVE:
            return f"c10::make_intrusive<{node}>({arguments})"
        # nodes are deleted iteratively, since recursion would be as deep as the graph
        return f"{self.node_pointer}<{node}>(new {node}({arguments}), deleteNode)"


@cache
def _template(release: Release, name: str) -> str:
    return release.spelled(load(name))


def filled(release: Release, name: str, /, **parts: str) -> str:
    """Fill the template ``<name>.cpp``, translated to a release."""
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

#: The releases with API changes, oldest first.
RELEASES = (_2_1, _2_2, _2_3, _2_5, _2_6, _2_7, _2_9, _2_10, _2_12, _2_13, _2_14)
OLDEST = RELEASES[0]
NEWEST = RELEASES[-1]
#: The default for an unknown release: that of the bundled operators.
DEFAULT = _2_13


@cache
def number_of(version: str | None) -> tuple[int, int]:
    """The major and minor number of a version of PyTorch, ``2.13.0+cpu``.

    Args:
        version: as PyTorch prints it, or None if unknown. Other text counts as the newest release.
    """
    if version is None:
        return DEFAULT.since
    match = _VERSION.match(version)
    return NEWEST.since if match is None else (int(match[1]), int(match[2]))


def known_number(version: str | None) -> tuple[int, int] | None:
    """The major and minor number of a version of PyTorch, or None for other text."""
    match = _VERSION.match(version or "")
    return None if match is None else (int(match[1]), int(match[2]))


def target_version(version: str | None) -> str:
    """The version that code is emitted for: that of the bundled operators if none is known."""
    return version or available_versions()[-1]


def version_warning(version: str | None) -> str | None:
    """Return the warning about a version with an unknown API, else None.

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
    """The API of a version of PyTorch; one newer than the table has that of the newest release.

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
