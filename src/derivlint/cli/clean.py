"""``derivlint clean``."""

from __future__ import annotations

import click

from derivlint.cli.shared.terminal import write
from derivlint.lint.wording import counted
from derivlint.project.caching.cleaning import clean as clean_cache
from derivlint.source import visible


@click.command(short_help="Empty the cache.")
def clean() -> None:
    """Remove what is kept between runs: findings, declarations of headers, and what numerical checks have built.

    The next runs take longer, and find the same. Only files that derivlint has made are removed. DERIVLINT_CACHE_DIR
    names the folder, else it is the one that the system has for caches.
    """
    done = clean_cache()
    if done.folder is None:
        write("there is no cache\n")
        return
    write(f'{counted(done.files, "file")} ({done.size / 1e6:.1f} MB) removed from "{visible(str(done.folder))}"\n')
