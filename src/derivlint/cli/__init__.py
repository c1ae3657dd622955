"""The commands.

Begin with :mod:`derivlint.cli.main`, which imports each command on demand, and :mod:`derivlint.cli.checking.check`.

Each other command is the module of its name.

    checking       ``check``, with its fixes, suppressions and watching; ``run`` does the work
    verification   ``verify``
    emission       ``emit`` and ``show``
    shared         what commands share: options, settings, exit statuses; ``terminal`` is the only module that prints
"""
