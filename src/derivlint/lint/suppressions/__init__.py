"""Comments that suppress findings: syntax, scopes and use."""
