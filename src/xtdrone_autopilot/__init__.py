"""The flight stacks: the embedded one, PX4-compatible, and the link to real PX4."""
