"""What each mode asks of the control loops: modes, missions, following."""
