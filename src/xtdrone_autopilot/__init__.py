"""The embedded flight stack, which is PX4-compatible."""
