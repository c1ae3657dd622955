"""Comments that silence findings: where they are, what they cover, and which are in use."""
