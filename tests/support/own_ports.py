"""The ports of this test run: its instance is that of the process, one for each pytest worker."""

from xtdrone_core.ports import Ports

PORTS = Ports()
