"""ORB-SLAM2 as a ROS node (orb_slam2_ros)."""
