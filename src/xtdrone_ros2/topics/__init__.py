"""Rows of a fleet's topics, and what fills them."""
