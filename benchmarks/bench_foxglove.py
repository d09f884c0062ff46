"""What recording MCAP, the live server with a client, and PX4's viewer cost the simulation.

    python benchmarks/bench_foxglove.py
    python benchmarks/bench_foxglove.py --n 30 --seconds 10

Measured is the processor time of the simulating thread alone, in flight, per simulated second; the
SDK's own threads work beside it. The client subscribes to everything, and reads in a process of its
own. At 1 x real time, since the server sends no more than a client can see.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import aiohttp
import results

from xtdrone_control.agents import SquareAgent
from xtdrone_core import Scenario
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.viewing.px4_viewer import Px4Viewer
from xtdrone_web.foxglove.telemetry import Telemetry

PARTS = {
    "none": (),
    "viewer": (lambda simulation: Px4Viewer(simulation.scenario, simulation.world),),
    "mcap": (Telemetry,),
    "foxglove": (Telemetry,),
}
TAKEOFF_S = 7.0


async def client(url):
    """Takes all messages of all topics until the server ends, and prints how many."""
    count = 0
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(url, protocols=("foxglove.sdk.v1",), max_msg_size=0) as socket,
    ):
        async for message in socket:
            count += message.type == aiohttp.WSMsgType.BINARY
            if message.type == aiohttp.WSMsgType.TEXT:
                told = json.loads(message.data)
                if told["op"] == "advertise":
                    await socket.send_str(
                        json.dumps(
                            {
                                "op": "subscribe",
                                "subscriptions": [
                                    {"id": c["id"], "channelId": c["id"]} for c in told["channels"]
                                ],
                            }
                        )
                    )
                    print("subscribed", flush=True)
    print(count, flush=True)


def cost(name, n, seconds, folder, work):
    """Processor time per simulated second [ms]."""
    options = {name: True} if name != "none" else {}
    run_folder.prepare(folder)
    simulation = Simulation(
        Scenario(fleet("iris", n), log="none", **options), folder, SquareAgent(n), links=False
    )
    reader = None
    try:
        observers = [make(simulation) for make in PARTS[name]]
        simulation.observers += observers
        if name == "foxglove":
            reader = subprocess.Popen(
                [sys.executable, __file__, "--client", observers[0].url], stdout=subprocess.PIPE
            )
        simulation.pacer.set_speed(0.0, 0)
        simulation.run(round(TAKEOFF_S * 1e6))
        if reader is not None:
            reader.stdout.readline()  # it has subscribed
            time.sleep(0.2)
        simulation.pacer.set_speed(1.0, simulation.t_us)
        begin = time.thread_time()
        simulation.run(round((TAKEOFF_S + seconds) * 1e6))
        spent = time.thread_time() - begin
        work.count("vehicles airborne", (simulation.state.pos[:, 2] > 1.0).sum(), n)
    finally:
        simulation.close()
    if reader is not None:
        received = int(reader.communicate(timeout=10)[0].split()[-1])
        work.count("messages received", received, n * seconds)
    if name == "mcap":
        work.count("bytes recorded", sum(file.stat().st_size for file in folder.rglob("*.mcap")), 1)
    return 1e3 * spent / seconds


def main():
    """Measures all, and updates runs/bench.json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--client", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.client:
        asyncio.run(client(args.client))
        return
    rows, work = [], results.Work()
    for name in PARTS:
        with tempfile.TemporaryDirectory() as folder:
            value = cost(name, args.n, args.seconds, Path(folder), work)
        rows.append(({"n": args.n, "observer": name}, round(value, 1), "ms per simulated second"))
        print(f"{args.n} vehicles, {name}: {value:.1f} ms per simulated second", flush=True)
    results.replace("observer_cost", rows, work)


if __name__ == "__main__":
    main()
