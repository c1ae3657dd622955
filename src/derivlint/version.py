"""The version of derivlint, for modules that the package itself imports on demand."""

__version__ = "0.1.0"


def version_text() -> str:
    """The version, the releases of the operator indexes, and the Python version."""
    # imported here: "derivlint --version" imports nothing else
    import os
    import platform

    folder = os.path.join(os.path.dirname(__file__), "schema", "data")
    names = sorted(name for name in os.listdir(folder) if name.startswith("index-") and name.endswith(".json"))
    releases = ", ".join(name.removeprefix("index-").removesuffix(".json") for name in names)
    return f"derivlint {__version__} (operators of PyTorch {releases}; Python {platform.python_version()})"
