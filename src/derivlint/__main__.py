"""The command ``derivlint``, also as ``python -m derivlint``."""

from __future__ import annotations

import sys

from derivlint import version_text


def main() -> None:
    """Run the command line; never shows a traceback unless ``DERIVLINT_DEBUG`` is set."""
    # the version alone needs none of the imports of the commands
    if sys.argv[1:] in (["--version"], ["-V"]):
        print(version_text())
        return
    # Trees and schemas live to the end of the process: looking for garbage cycles among them costs a third of the time.
    import gc

    gc.disable()
    try:
        from derivlint.cli.main import run

        status = run(sys.argv[1:])
    except KeyboardInterrupt:
        status = 130
    # else the interpreter looks for garbage once more when it ends, switched off or not: a fifth of the time
    gc.freeze()
    sys.exit(status)


if __name__ == "__main__":
    main()
