"""The transport: the protocol and its frames (``protocol``), capabilities of clients, and encodings of positions."""
