"""The transport: frames (``wire``), the protocol, capabilities of clients, and encodings of positions."""
