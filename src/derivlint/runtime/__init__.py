"""Building emitted extensions and loading them into the installed PyTorch.

The terms are the extension (``load``), an emitted folder built as a library; its manifest (``manifest``), with the
release that it was emitted for; the translation unit (``build``), the input of one compiler run; and the shipped node
(``shipped``), a node class that PyTorch's own library exports. Begin with :mod:`derivlint.runtime.load`; ``build``
compiles with a cache, ``syntax`` checks sources only, and ``start`` begins the process of ``derivlint run``.
"""

from derivlint.runtime.build import BuildError, Built, build, objects
from derivlint.runtime.load import Extension, LoadError, load
from derivlint.runtime.manifest import Manifest, ManifestError, read_manifest

__all__ = [
    "BuildError",
    "Built",
    "Extension",
    "LoadError",
    "Manifest",
    "ManifestError",
    "build",
    "load",
    "objects",
    "read_manifest",
]
