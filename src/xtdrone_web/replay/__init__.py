"""Replay on the page: recordings of several kinds, and the station that plays them."""
