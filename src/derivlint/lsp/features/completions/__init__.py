"""What helps while someone types: completion, and the signature of a call."""
