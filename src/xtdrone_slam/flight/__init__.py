"""The flights that are recorded: worlds, trajectories, the Agent."""
