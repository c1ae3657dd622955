"""The command ``verify``: its options, the base that it compares with, and its reports."""
