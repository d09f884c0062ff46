"""What moves the bodies: MuJoCo in this process, or Gazebo 11."""
