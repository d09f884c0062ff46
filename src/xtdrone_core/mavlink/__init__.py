"""MAVLink as every room uses it: dialect, framing, signing, and the side of the client."""
