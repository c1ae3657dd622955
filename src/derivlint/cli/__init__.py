"""The commands.

Begin with :mod:`derivlint.cli.main`, which imports each command on demand, and :mod:`derivlint.cli.check`. Options that
commands share are in ``options``, ``output``, ``fix_options`` and ``suppression_options``; :mod:`derivlint.cli.run`
does the work of ``check``. ``terminal`` is the only module that prints.
"""
