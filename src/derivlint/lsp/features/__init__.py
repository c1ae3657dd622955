"""Hover, completion, definition, rename and so on: functions of an analysis and a place, without protocol.

Places are offsets in code points, kinds are the names of the protocol's enumerations. Most features use the last text
that could be parsed; completion and signature help use the current text, broken or not.
"""
