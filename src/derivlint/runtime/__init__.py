"""Building emitted extensions and loading them into the installed PyTorch.

Begin with :mod:`derivlint.runtime.load`; ``build`` compiles with a cache, ``manifest`` refuses code emitted for another
release, ``shipped`` finds the nodes that the installed PyTorch exports.
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
