"""What the language server can tell of a derivatives file: functions of an analysis and a place, without protocol.

Places are offsets of code points, kinds are the names of the protocol's own enumerations. What only tells of text that
was understood works on the last text that was; completion and signature help work on the present text, broken or not.
"""
