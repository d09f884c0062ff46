"""Real PX4 on the lemniscate of control.py: writes its figures to px4_control.json beside this.

    PX4_BUILD=... python scripts/validation/_control_px4.py

An iris is flown in OFFBOARD by position, velocity and acceleration set-points at 50 Hz; PX4 has its
own default parameters. With the true state, its estimator fuses the true pose (pose_source truth).
"""

import json
import sys

import control


def main():
    """Flies every wind with both sources of the pose."""
    found = {}
    for name, wind, *_ in control.WINDS:
        for source in ("truth", "sensors"):
            flown = control.fly({"autopilot": "px4"}, wind=wind, truth=False, pose_source=source)
            found.setdefault(name, {})[source] = round(flown.rms(), 1)
            print(f"wind {name}, pose of {source}: {flown.rms():.1f} cm", flush=True)
    control.PX4_RECORDED.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
