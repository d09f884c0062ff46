"""The Gazebo 11 engine, stepped in lockstep through a Gazebo plugin."""
