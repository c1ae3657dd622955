"""Findings, messages and fixes that several rules share."""
