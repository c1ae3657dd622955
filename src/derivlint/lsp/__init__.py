"""The language server. It reports to an editor what the command line reports, by the same checks."""
