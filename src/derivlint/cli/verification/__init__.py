"""The command ``verify``: its options, its base of comparison, and its reports."""
