"""The command ``check``: its options, fixes, suppressions, watching, and the run itself."""
