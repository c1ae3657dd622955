"""The abstract interpretation of formulas: degrees, dependences, aliases, and the calls that have them."""
