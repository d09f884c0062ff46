"""How far wind, a payload and a drained tank displace a hovering hexarotor.

python examples/disturbances.py
"""

import numpy as np

import xtdrone as xd

WIND = "mean=4,1,0 gust=20:3:0,4,0 dryden=5"  # steady, one gust at 20 s, turbulence [m/s]
DISTURBANCES = (
    "25: payload typhoon_h480_0 0.4 0,0,-0.15; "  # [kg] at an offset below it [m]
    "30: drain typhoon_h480_0 0.05"
)  # [kg/s]


def hover(**options):
    """Distances from the hover position, every 0.1 s from 15 s to 40 s [m]."""
    scenario = xd.Scenario(vehicles="typhoon_h480", seed=1, **options)
    with xd.Simulation(scenario) as sim:
        sim.arm()
        sim.takeoff(5.0)
        sim.run(15.0 - sim.time)
        away = []
        while sim.time < 40.0:
            sim.run(0.1)
            away.append(np.linalg.norm(sim.state.pos[0] - (0.0, 0.0, 5.0)))
    return np.array(away)


payload = {"disturbances": DISTURBANCES}
for name, options in {
    "calm": {},
    "wind": {"wind": WIND},
    "payload": payload,
    "both": {"wind": WIND, **payload},
}.items():
    errors = hover(**options)
    print(f"{name:8} {np.sqrt(np.mean(errors**2)):.2f} m RMS, {errors.max():.2f} m at most")
