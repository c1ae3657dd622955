"""Commands for maintainers, which the wheel does not have: ``python -m tools.NAME`` in a checkout.

docs            generates pages, blocks and data (``blocks`` fills blocks, ``tables`` renders tables)
new_rule        creates and registers a rule
parser_tables   generates the tables of the parsers
index           builds tables of PyTorch's releases: operators (``bundling``), headers (``library_sources``), types
                (``type_relations``, ``narrowing``), names (``namespaces``)
release         bundles a release of PyTorch and reports its changes (``release_checks`` runs tests and compiler)
sample_sources  records the OpInfos of each operator
"""
