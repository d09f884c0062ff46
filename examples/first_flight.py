"""Two vehicles, commanded by a script, take off, fly to a position each, and land.

python examples/first_flight.py
"""

import xtdrone as xd

with xd.Simulation(xd.Scenario(vehicles="iris*2")) as sim:
    sim.arm()
    sim.takeoff(3.0)
    sim.goto([[4.0, 0.0, 3.0], [0.0, 4.0, 5.0]])
    print(
        f"{sim.time:.1f} s: "
        + ", ".join(f"{name} at {pos.round(2)}" for name, pos in zip(sim.names, sim.state.pos))
    )
    sim.velocity([0.0, 0.0, 1.0], vehicles="iris_0")  # climbs at 1 m/s until the next command
    sim.run(2.0)
    print(f"{sim.names[0]} has climbed to {sim.state.pos[0, 2]:.2f} m")
    sim.land()
    print(f"landed after {sim.time:.1f} s")
