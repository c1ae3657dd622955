"""Output formats for programs: CI services, editors and scripts."""
