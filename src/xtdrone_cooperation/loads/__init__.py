"""Loads on cables: how they swing, and an Agent that carries them."""
