"""The vehicles of a simulation: who flies which, and how they come and go."""
