"""A run while it lasts and after: its folder, logs, control socket, ports, processes, snapshots."""
