"""What goes over the wire: frames, the protocol, what clients can do, and positions as they count them."""
