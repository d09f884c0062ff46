"""`xtdrone doctor`: checks of the machine and of a running fleet."""
