"""What is flown: worlds, reference trajectories and their options."""
