"""One vehicle on PX4: Pegasus' example of its PX4 backend.

    PX4_BUILD=~/PX4-Autopilot/build/px4_sitl_default python examples/pegasus_px4.py

PX4 is started for the vehicle and ends with the simulation. Without PX4_BUILD the embedded flight
stack flies, on the same ports. QGroundControl may watch.
"""

import os

import xtdrone as xd

autopilot = "px4" if "PX4_BUILD" in os.environ else "embedded"
scenario = xd.Scenario(vehicles="iris", autopilot=autopilot, world="outdoor", gps="rtk")
with xd.Simulation(scenario, links=True) as sim:
    sim.arm()
    sim.takeoff(5.0)
    for corner in ((5.0, 0.0, 5.0), (5.0, 5.0, 5.0), (0.0, 5.0, 5.0), (0.0, 0.0, 5.0)):
        sim.goto(corner)
        print(f"{sim.time:.1f} s: at {sim.state.pos[0].round(1)}")
    sim.land()
    print(f"landed after {sim.time:.1f} s on {autopilot}")
