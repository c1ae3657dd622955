"""The public Python API, which the commands are built on. ``derivlint`` itself exports its names.

inputs           texts, paths, settings and operators
checking         check, fix
code             load_model, emit, derive
suggesting       suggest, for ``derivlint suggest`` as well
emission         the code of a file, for ``derivlint emit`` as well
replacing        replaced derivatives of the installed PyTorch, for ``derivlint run``
derivation       derivatives of expressions, for ``derivlint derive`` as well
adjacent_files   headers and modules next to a derivatives file that its code needs
"""
