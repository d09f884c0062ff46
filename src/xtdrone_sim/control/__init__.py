"""The control socket of a running simulation."""
