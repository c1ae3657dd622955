"""Findings, wordings and fixes that several rules share."""
