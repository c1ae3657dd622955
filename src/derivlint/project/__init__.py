"""Everything around a check: configuration, files, operators, cache, and checking one file.

Begin with :mod:`derivlint.project.check`: ``check_source`` is the one way from a text to findings. ``settings`` reads
the configuration and knows the conventions of projects, ``files`` finds derivatives files, ``operators`` the native
functions and headers, ``filtering`` selects the findings to show, ``caching`` stores them, ``fixing`` fixes files,
``untrusted`` restricts what a hostile repository can do. ``files`` also resolves ``@FILE`` and native_functions.yaml on
the command line, ``loading`` loads a file with its model, ``git`` reads old versions of files, and ``globs`` matches
path patterns.
"""
