"""The fleet for Foxglove and Lichtblick: a live server, and a recording as MCAP."""
