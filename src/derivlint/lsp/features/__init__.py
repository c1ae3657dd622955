"""Editor features, such as hover, completion and rename: functions of an analysis and an offset, without protocol.

Offsets count code points, kinds are the names of the protocol's enumerations. Most features use the last text
that could be parsed; completion and signature help use the current text, valid or not.
"""
