"""Building emitted extensions and loading them into the installed PyTorch."""

from derivlint.runtime.build import BuildError, Built, build
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
    "read_manifest",
]
