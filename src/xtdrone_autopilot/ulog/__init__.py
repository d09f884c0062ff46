"""PX4's flight logs: written, read, drawn."""
