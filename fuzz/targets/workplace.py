"""The folders that inputs are run in, and what must not change around them."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path

from fuzz.target import require

#: What lies beside the working folder; nothing that is run may change it.
_OUTSIDE = {"precious.txt": b"precious\n", "CMakeLists.txt": b"project(precious)\n"}


class Workplace:
    """A folder for one process.

    Attributes:
        root: holds everything, removed with :meth:`remove`.
        folder: the working folder, empty before each input.
    """

    def __init__(self) -> None:
        self._before = os.getcwd()
        self.root = Path(tempfile.mkdtemp(prefix="derivlint-fuzz-")).resolve()
        self.folder = self.root / "work"
        self._outside = self.root / "outside"
        self._outside.mkdir()
        for name, data in _OUTSIDE.items():
            (self._outside / name).write_bytes(data)
        self.folder.mkdir()

    def environment(self) -> dict[str, str]:
        """The variables that keep derivlint in here."""
        return {
            "HOME": str(self.root / "home"),
            "XDG_CACHE_HOME": str(self.root / "home/cache"),
            "DERIVLINT_CACHE_DIR": str(self.root / "cache"),
            "TMPDIR": str(self.root),
            "NO_COLOR": "1",
            "CI": "1",
        }

    def clear(self) -> None:
        """Empty the working folder and go there."""
        os.chdir(self.root)
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path)
                else:
                    os.unlink(entry.path)
        os.chdir(self.folder)

    def check_outside(self) -> None:
        """Expect that nothing outside of the working folder changed."""
        names = sorted(os.listdir(self._outside))
        require(names == sorted(_OUTSIDE), "files made or deleted outside of the working folder", names)
        for name, data in _OUTSIDE.items():
            require((self._outside / name).read_bytes() == data, "a file changed outside of the working folder", name)

    def contents(self) -> Mapping[str, bytes]:
        """The files of the working folder."""
        found = {}
        for place, _, names in os.walk(self.folder):
            for name in names:
                path = Path(place, name)
                found[str(path.relative_to(self.folder))] = path.read_bytes()
        return found

    def remove(self) -> None:
        """Delete everything."""
        os.chdir(self._before)
        shutil.rmtree(self.root, ignore_errors=True)


@lru_cache(maxsize=1)
def _of_process(process: int) -> Workplace:
    place = Workplace()
    os.environ.update(place.environment())
    return place


def workplace() -> Workplace:
    """The workplace of this process, made when it is first asked for."""
    return _of_process(os.getpid())


@cache
def prepare() -> None:
    """Let bundled operators be read once for all inputs, which are then a matter of milliseconds."""
    import derivlint.schema

    derivlint.schema.load_index = cache(derivlint.schema.load_index)
