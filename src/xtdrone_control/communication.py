"""XTDrone's communication classes under their XTDrone name; they need ROS.

from xtdrone_control.communication import Communication
Communication("iris", 0).start()
"""

from .ros_communication import Communication, FleetCommunication

__all__ = ["Communication", "FleetCommunication"]
