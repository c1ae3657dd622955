"""``derivlint clean``."""

from __future__ import annotations

import click

from derivlint.cli.shared.terminal import write
from derivlint.lint.wording import counted
from derivlint.project.caching.cache import clean as clean_cache
from derivlint.source import visible


@click.command(short_help="Empty the cache.")
def clean() -> None:
    """Empty the cache.

    Removes cached results, header declarations, precompiled headers and builds, and nothing else. Later runs recreate
    them. The cache is in $DERIVLINT_CACHE_DIR, else in the user's cache folder.
    """
    done = clean_cache()
    if done.folder is None:
        write("there is no cache\n")
        return
    write(f'{counted(done.files, "file")} ({done.size / 1e6:.1f} MB) removed from "{visible(str(done.folder))}"\n')
