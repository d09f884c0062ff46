"""The ports and the newest run of this test run: each pytest worker has an instance of its own."""

from xtdrone_core.runs.ports import Ports
from xtdrone_core.runs.run_folder import latest

PORTS = Ports()
LATEST = latest(PORTS.instance)
