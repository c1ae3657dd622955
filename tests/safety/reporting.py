"""Started as a child by tests: says where it is and what it imports from, and starts processes of its own."""

from __future__ import annotations

import json
import os
import sys
import time

import derivlint
from derivlint.compiler.child import end_with_parent


def main(lifeline: int) -> None:
    """Say on standard output what ``sys.argv[1]`` asks for."""
    if sys.argv[1] == "where":
        import torch

        found = {"cwd": os.getcwd(), "path": sys.path, "derivlint": derivlint.__file__, "torch": torch.__file__}
        print(json.dumps(found), flush=True)
        return
    pid = os.fork()
    if not pid:
        end_with_parent(lifeline, os.getppid())
        time.sleep(3600)
    print(json.dumps([os.getpid(), pid]), flush=True)
    if sys.argv[1] == "busy":
        # the interpreter runs nothing else meanwhile, as in many a library
        sum(range(10**12))
    time.sleep(3600)
