"""Sizes of outputs as functions of sizes of inputs, by operator."""
