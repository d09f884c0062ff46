"""A policy as a file, and what flies it."""
