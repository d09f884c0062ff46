"""Control laws of rovers and boats."""
