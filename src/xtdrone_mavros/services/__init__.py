"""The bridge's services, MAVROS's for each vehicle, a row each.

To add one, write a function of a vehicle and a request that returns the fields of the response, and
its row, in the file of its subject.
"""

from . import commands, files, parameters, plans
from .row import Service, ServiceFailed

__all__ = ["SERVICES", "Service", "ServiceFailed"]

SERVICES = (*commands.SERVICES, *parameters.SERVICES, *plans.SERVICES, *files.SERVICES)
