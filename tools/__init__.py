"""Commands for maintainers, which the wheel does not have: ``python -m tools.NAME`` in a checkout.

docs            generated pages, blocks and data (``blocks`` fills blocks, ``tables`` renders tables)
new_rule        the file of a new rule
parser_tables   the tables of the parsers
index           tables of PyTorch's releases: operators (``bundling``), headers (``library_sources``), types
                (``type_relations``), names (``namespaces``)
release         a release of PyTorch, and what it changes (``release_checks`` runs tests and compiler)
"""
