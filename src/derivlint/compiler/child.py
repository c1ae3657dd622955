"""Where a Python process of ours begins: run by path with ``-I``, before anything else of derivlint is imported.

It ends with the process that started it, gives itself the import path of that process without the folder that it was
started in, imports the very same derivlint, and calls ``main`` of one of its modules with the number of the pipe that
ends with the parent, for processes that it starts itself.

Nothing of derivlint can be imported here at the top: whose derivlint that would be is what this file decides.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location

#: The signal that ends a process at once, and the option of ``prctl`` that has it sent when the parent ends.
_SIGKILL = 9
_PR_SET_PDEATHSIG = 1


def end_with_parent(lifeline: int, parent: int) -> None:
    """Have this process ended when its parent ends, however that comes about.

    Args:
        lifeline: the reading end of a pipe whose other end the parent holds and no one writes to.
        parent: the process that started this one.
    """
    threading.Thread(target=_wait_for_the_end, args=(lifeline,), daemon=True).start()
    if sys.platform == "linux":
        # at once, also while a library holds the interpreter
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _wait_for_the_end(lifeline: int) -> None:
    try:
        os.read(lifeline, 1)
    finally:
        os._exit(1)


def _set_import_path(paths: list[str], start_folder: str, user_site: str) -> None:
    """Take over the parent's import path.

    Args:
        paths: that path, made absolute.
        start_folder: the folder that the parent was started in; it counts only if an installation put it on the path.
        user_site: the user's own packages, empty where the parent does not see them.
    """
    if user_site:
        import site

        site.addsitedir(user_site)
    own = list(sys.path)
    inherited = [path for path in paths if path in own or os.path.realpath(path) != start_folder]
    sys.path[:] = dict.fromkeys(inherited + own)


def _import_derivlint(file: str, folders: list[str]) -> None:
    """Import the package of the parent, wherever that found it."""
    spec = spec_from_file_location("derivlint", file, submodule_search_locations=folders)
    if spec is None or spec.loader is None:
        sys.exit(f'cannot import "{file}"')
    package = module_from_spec(spec)
    sys.modules["derivlint"] = package
    spec.loader.exec_module(package)


def main() -> None:
    """Set up the process and call ``main`` of the module that the first argument names."""
    task = json.loads(sys.argv.pop(1))
    end_with_parent(task["lifeline"], task["parent"])
    _set_import_path(task["path"], task["start_folder"], task["user_site"])
    _import_derivlint(task["file"], task["folders"])
    import_module(task["module"]).main(task["lifeline"])


if __name__ == "__main__":
    main()
