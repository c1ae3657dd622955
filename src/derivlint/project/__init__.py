"""Everything around a check: configuration, files, operators, cache, and checking one file.

Read :mod:`derivlint.project.check` first: ``check_source`` computes all findings of a text. ``settings`` reads the
configuration and has the conventions of projects, ``files`` finds derivatives files, ``operators`` the native
functions and headers, ``filtering`` selects the findings to show, ``caching`` stores them, ``fixing`` fixes files,
``untrusted`` restricts what a hostile repository can do. ``files`` also resolves ``@FILE`` and native_functions.yaml on
the command line, ``loading`` loads a file with its model, ``git`` reads old versions of files, and ``globs`` matches
path patterns.
"""
