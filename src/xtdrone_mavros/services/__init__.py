"""ROS services that the bridge offers: MAVROS's services of each vehicle, one row each.

To add a service, write a function of a vehicle and a request that returns the fields of the
response, and its row, in the file of its subject.
"""

from ..rows import Service, ServiceFailed
from ..vehicle import Vehicle
from . import commands, files, parameters, plans, vehicle_info

__all__ = ["SERVICES", "Service", "ServiceFailed"]

SERVICES: tuple[Service[Vehicle], ...] = (
    *commands.SERVICES,
    *vehicle_info.SERVICES,
    *parameters.SERVICES,
    *plans.SERVICES,
    *files.SERVICES,
)
