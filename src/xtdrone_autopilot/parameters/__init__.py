"""The parameters of the flight stack, and their files."""
