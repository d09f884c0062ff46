"""Training: makes a policy for a task."""
