"""The relay manoeuvre of Pegasus, its equation (17) and figure 6: two quadrotors pass a parcel.

python examples/pegasus_relay.py
"""

import numpy as np

import xtdrone as xd

S, RISE, END = 0.6, 4.0, 3.0  # aggressiveness; time to rise, and of the end in (17) [s]


def relay(clock, sign, side):
    """Position, velocity, acceleration, jerk: a rise, a start of 2 s, then (17) from t = -3."""
    t = clock - RISE - 2.0 - END
    run = min(max(clock - RISE, 0.0), 2.0)
    along = (t, 1.0, 0.0, 0.0) if t > -END else (run**2 / 4 - 4, run / 2, 0.5 * (run > 0), 0.0)
    along = along if t < END else (END, 0.0, 0.0, 0.0)
    g, u = np.exp(-0.5 * (t / S) ** 2) / S, t / S
    bump = g, -u / S * g, (u * u - 1) / S**2 * g, (3 * u - u**3) / S**3 * g
    path = np.array([[x, sign * b, b] for x, b in zip(along, bump)])
    r = min(clock / RISE, 1.0)
    path[0] += 0.0, side, 0.1 + 0.9 * r * r * (3 - 2 * r)
    path[1, 2] += 5.4 * r * (1 - r) / RISE
    return path


gains = xd.MellingerGains()  # those of Pegasus
pilots = {
    f"iris_{k}": xd.Mellinger(lambda t, k=k: relay(t, 1 - 2 * k, 4.5 * k), 13.0, gains, truth=True)
    for k in range(2)
}
errors = []
with xd.Simulation(xd.Scenario(vehicles="iris@-4,0; iris@-4,4.5"), backends=pilots) as sim:

    @sim.on_step(period=0.02)
    def note(t, state, sensors):
        """The errors during (17)."""
        if all(6.0 < pilot.time < 12.0 for pilot in pilots.values()):
            errors.append([np.linalg.norm(pilot.error) for pilot in pilots.values()])

    sim.run()
print("RMS error of both [mm]:", (1e3 * np.sqrt(np.mean(np.square(errors), 0))).round(1))
