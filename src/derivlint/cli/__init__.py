"""The commands.

Read :mod:`derivlint.cli.main` first, which imports each command on demand, then :mod:`derivlint.cli.checking.check`.

Each other command is the module of its name.

    checking       ``check``, with its fixes, suppressions and watching; ``run`` checks the files
    verification   ``verify``
    shared         what commands share: options, settings, exit statuses; ``terminal`` is the only module that prints
"""
