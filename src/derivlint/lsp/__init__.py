"""The language server. What it tells an editor is what the command line tells, by the same checks."""
