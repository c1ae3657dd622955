"""The command ``derivlint``, also as ``python -m derivlint``."""

from __future__ import annotations

import os
import sys

from derivlint import __version__


def main() -> None:
    """Run the command line; never shows a traceback unless ``DERIVLINT_DEBUG`` is set."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        print(f"derivlint {__version__}")
        return
    # Trees and schemas live to the end of the process: looking for garbage cycles among them costs a third of the time.
    import gc

    gc.disable()
    from derivlint.cli.main import cli

    try:
        cli.main(prog_name="derivlint")
    except BrokenPipeError:
        # the reader of our output went away; there is nobody left to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if os.environ.get("DERIVLINT_DEBUG"):
            raise
        name = type(error).__name__
        print(f"derivlint: internal error: {name}: {error}", file=sys.stderr)
        print("this is a bug; set DERIVLINT_DEBUG=1 for the traceback and please report it", file=sys.stderr)
        sys.exit(3)


if __name__ == "__main__":
    main()
