"""The command ``dev docs``: the pages, blocks, tables and pictures that are generated."""
