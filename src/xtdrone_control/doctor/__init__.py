"""`xtdrone doctor`: what a machine and a running fleet lack."""
