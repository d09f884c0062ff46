"""The web server of a simulation, in a process of its own."""
