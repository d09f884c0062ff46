"""Valid files of every kind, for the mutators to begin with."""

import functools
import json
import shutil
from pathlib import Path

import numpy as np

from . import commands

ROOT = Path(__file__).parents[2]
ULOG = ROOT / "tests" / "data" / "px4_hover.ulg"
N, RECORDS = 3, 400  # vehicles, records of 20 ms

CALIBRATION = """cam0:
  T_cam_imu: [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0, 0, 0, 1.0]]
  camera_model: pinhole
  distortion_coeffs: [0.0, 0.0, 0.0, 0.0]
  distortion_model: radtan
  intrinsics: [300.0, 300.0, 160.0, 120.0]
  resolution: [320, 240]
  rostopic: /cam0/image_raw
cam1:
  T_cam_imu: [[1.0, 0.0, 0.0, -0.1], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0, 0, 0, 1.0]]
  camera_model: pinhole
  distortion_coeffs: [0.0, 0.0, 0.0, 0.0]
  distortion_model: radtan
  intrinsics: [300.0, 300.0, 160.0, 120.0]
  resolution: [320, 240]
  rostopic: /cam1/image_raw
"""
IMU = """gyroscope_noise_density: 0.001
gyroscope_random_walk: 0.0001
accelerometer_noise_density: 0.01
accelerometer_random_walk: 0.001
rostopic: /imu0
update_rate: 200.0
"""
CAMPAIGN = """name: small
systems: [klt]
datasets: [run]
runs: 2
speed: 1.0
align: se3
max_diff: 0.01
"""
PARAMS = """# Onboard parameters for Vehicle 1
#
# Vehicle-Id Component-Id Name Value Type
1\t1\tMPC_XY_CRUISE\t5.000000000000000000\t9
1\t1\tMPC_Z_VEL_MAX_UP\t3.000000000000000000\t9
1\t1\tCOM_RC_IN_MODE\t1\t6
"""
SCENARIO = """vehicles:
- {type: iris, name: a, pos: [0.0, 0.0, 0.0], yaw: 0.0}
- {type: iris, name: b, pos: [3.0, 0.0, 0.0], yaw: 1.57}
world: empty
engine: embedded
autopilot: embedded
speed: 0.0
seed: 1
gps: rtk
wind: mean=1,0,0 gust=1
disturbances: ['12: payload a 0.3', '20: rotor b 2 0.0']
pose_source: sensors
origin: shared
log: none
name: run
gui: false
instance: 0
"""


@functools.cache
def trajectory() -> str:
    """A TUM file."""
    from xtdrone_slam.datasets.formats import tum_line

    return "".join(
        tum_line(20_000 * k, (0.01 * k, np.sin(0.05 * k), 1.5), (0, 0, 0, 1)) + "\n"
        for k in range(200)
    )


@functools.cache
def flown() -> str:
    """A CSV file of a trajectory."""
    return "t,x,y,z,yaw\n" + "".join(
        f"{0.1 * k:.1f},{0.1 * k:.3f},0.0,1.5,0.01\n" for k in range(40)
    )


def formation() -> str:
    """A CSV file of a formation of nine."""
    return "x,y,z\n" + "".join(f"{2 * k},0,{k % 3}\n" for k in range(1, 9))


def truth() -> bytes:
    """A truth log of three vehicles."""
    record = np.zeros(RECORDS, dtype=[("t_us", "<i8"), ("table", "<f8", (N, 13))])
    record["t_us"] = 20_000 * np.arange(1, RECORDS + 1)
    record["table"][:, :, 6] = 1.0
    record["table"][:, :, 0] = 3.0 * np.arange(N)
    record["table"][:, :, 2] = np.clip(np.arange(RECORDS) * 0.02, 0, 2)[:, None]
    return record.tobytes()


def events() -> str:
    """The events of a formation flight of three."""
    lines = [
        {
            "t_us": 1_000_000,
            "event": "formation",
            "formation": "line",
            "slots": [[3.0, 0, 0], [6.0, 0, 0]],
        },
        {"t_us": 4_000_000, "event": "mission"},
        {"t_us": 5_000_000, "event": "mission_end"},
        {
            "t_us": 6_000_000,
            "event": "formation",
            "formation": "V",
            "slots": [[3.0, 1.0, 0], [3.0, -1.0, 0]],
        },
        {"t_us": 7_500_000, "event": "land"},
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)


def summary() -> str:
    """The summary of that flight."""
    row = {
        "name": "line",
        "settle_time_s": 1.5,
        "rms_slot_error_m": 0.1,
        "max_slot_error_m": 0.2,
        "rms_velocity_error_m_s": 0.1,
    }
    return json.dumps(
        {
            "n": N,
            "sim_time_s": 8.0,
            "real_time_factor": 9.5,
            "collisions": 0,
            "landed": True,
            "formations": [row],
            "min_separation_m": 2.0,
            "messages_sent": 10,
            "messages_lost": 1,
        },
        indent=2,
    )


def put_run(folder: Path) -> Path:
    """A run folder of a formation flight."""
    run = folder / "run"
    run.mkdir(exist_ok=True)
    (run / "truth.bin").write_bytes(truth())
    (run / "events.jsonl").write_text(events())
    (run / "summary.json").write_text(summary())
    (run / "scenario.yaml").write_text(f"vehicles: iris*{N}")
    return run


def put_samples(folder: Path) -> None:
    """One file of each kind, and files that are none."""
    commands.precious(folder)
    commands.fifo(folder)
    (folder / "link.png").symlink_to("precious.txt")
    (folder / "binary.bin").write_bytes(bytes(range(256)) * 40)
    (folder / "empty").touch()
    put_run(folder)
    for name, content in (
        ("est.tum", trajectory()),
        ("table.csv", formation()),
        ("flown.csv", flown()),
        ("c.yaml", CALIBRATION),
        ("i.yaml", IMU),
        ("campaign.yaml", CAMPAIGN),
        ("iris.params", PARAMS),
        ("s.yaml", SCENARIO),
    ):
        (folder / name).write_text(content)
    shutil.copy(ROOT / "docs" / "missions" / "square.plan", folder)
    shutil.copy(ROOT / "models" / "iris" / "model.sdf", folder)
    (folder / "log.ulg").write_bytes(ulog())


@functools.cache
def ulog() -> bytes:
    """The first part of a flight log of PX4's."""
    return ULOG.read_bytes()[:150_000]


def write(path: str, content: str | bytes) -> None:
    """Writes an input; text that is no Unicode keeps its bytes."""
    with open(path, "wb") as file:
        file.write(
            content
            if isinstance(content, bytes)
            else content.encode("utf-8", errors="surrogatepass")
        )
