"""Physics engines: MuJoCo inside this process, or Gazebo 11 in a process of its own."""
