"""Real PX4 in HITL mode on this machine, at a pseudo-terminal in place of a USB cable.

It needs a build of PX4 without lockstep (px4_sitl_nolockstep): the other one has its clock from the
simulator's TCP link. Its start-up is that of a board with SYS_HITL 1: commander, sensors and
pwm_out_sim in HIL mode, no simulator module, MAVLink at the device.
"""

import shutil
from pathlib import Path

from xtdrone_flight_controllers.px4.process import Px4Installation, Px4Process, simulation_defaults
from xtdrone_sim.vehicles.sdf import load_vehicle

PARAMETERS = {"SYS_HITL": 1, "SIM_BAT_ENABLE": 0, "NAV_DLL_ACT": 0}
_EDITS = (
    ("\nsensors start\n", "\nsensors start -h\n"),
    ("\ncommander start\n", "\ncommander start -h\n"),
    ("pwm_out_sim start -m sim", "pwm_out_sim start -m hil"),
    ("\nreplay trystart\n", "\n"),
)  # which is not in a build without lockstep


def start(
    build,
    device,
    work: Path,
    folder: Path | None = None,
    i: int = 0,
    name="iris_0",
    model="iris",
    gps_latency=0.1,
):
    """Starts PX4.

    Args:
        build: Its build folder.
        device: Path of its end of the cable.
        work: Folder for its start-up scripts.
        folder: For console and logs, None = temporary.
        i: Index in the fleet.
        name: Of the vehicle.
        model: Its type.
        gps_latency: Of its receiver [s].
    """
    build = Path(build)
    etc = work / f"etc_{i}"
    shutil.copytree(build / "etc", etc)
    scripts = etc / "init.d-posix"
    text = (scripts / "rcS").read_text()
    for before, after in _EDITS:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    (scripts / "rcS").write_text(text)
    (scripts / "px4-rc.simulator").write_text("param set-default IMU_INTEG_RATE 250\n")
    (scripts / "px4-rc.mavlink").write_text(
        f"mavlink start -d {device} -b 921600 -m config -r 800000 -f\n"
    )
    return Px4Process(
        Px4Installation(build / "bin/px4", etc),
        i,
        name,
        load_vehicle(model),
        folder,
        parameters=PARAMETERS,
        defaults=simulation_defaults(gps_latency),
    )
