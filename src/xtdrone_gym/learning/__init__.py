"""From a task to a policy."""
