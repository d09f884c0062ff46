"""Requests on the control socket of a flying simulation: changed, broken, cut and in floods."""

import json
import math
import socket
import warnings

import numpy as np

from own_ports import PORTS
from xtdrone_control.agents import HoverAgent
from xtdrone_core import Scenario, XtdroneError
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.control_link import MAX_CLIENTS, ControlServer
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.warm_up import ensure_warm

from .common import Crash, Kind, Nonsense, mutated_bytes, mutated_tree, nested, number

TICK = 5  # steps
_STILL = [0.0] * 6
_BOX = """<sdf version='1.6'><model name='box'><link name='link'><inertial><mass>1</mass></inertial>
<collision name='c'><geometry><box><size>1 1 1</size></box></geometry></collision></link></model>
</sdf>"""
GOOD = (
    {"op": "status"},
    {"op": "health"},
    {"op": "sensors"},
    {"op": "pause"},
    {"op": "resume"},
    {"op": "step", "n": 3},
    {"op": "speed", "speed": 0},
    {"op": "speed", "speed": 2.0},
    {"op": "event", "event": "landed", "values": {"a": [1, 2.5, "x"]}},
    {"op": "disturb", "disturbance": "rotor iris_0 2 0.9"},
    {"op": "disturb", "disturbance": "payload iris_1 0.1"},
    {"op": "reset", "vehicles": ["iris_0"]},
    {"op": "save", "name": "one"},
    {"op": "load", "name": "one"},
    {"op": "models"},
    {"op": "model", "model": "iris_0"},
    {"op": "joint", "joint": "iris_0::rotor_0_joint"},
    {"op": "where", "link": "iris_0::base_link", "frame": "iris_1::base_link"},
    {"op": "where", "model": "iris_0"},
    {"op": "place", "model": "box", "state": [9.0, 9.0, 3.0, 0.0, 0.0, 0.0, 1.0, *_STILL]},
    {"op": "place", "model": "iris_1", "state": [4.0, 4.0, 5.0, 0.0, 0.0, 0.0, 1.0, *_STILL]},
    {"op": "insert", "model": "box", "sdf": _BOX, "pose": [9.0, 9.0, 3.0, 0.0, 0.0, 0.0, 1.0]},
    {"op": "remove", "model": "box"},
    {
        "op": "push",
        "link": "iris_0::base_link",
        "wrench": [0.1] * 6,
        "point": [0.0, 0.0, 0.1],
        "begin_us": 0,
        "duration_us": 100_000,
    },
    {"op": "release", "link": "iris_0::base_link"},
    {"op": "subscribe", "barrier": True, "tables": ["models", "links"]},
    {"op": "done", "t_us": 20_000},
)


class KIND(Kind):
    """A simulation of two vehicles, and clients of its control socket."""

    share = 80
    per_fork = 1500

    def prepare(self):
        """Compiles the kernels."""
        ensure_warm()

    def start(self, folder):
        """Starts a flight."""
        warnings.simplefilter("error", RuntimeWarning)
        run_folder.prepare(folder)
        self.simulation = Simulation(
            Scenario(fleet("iris", 2), speed=0.0, log="none"),
            folder,
            HoverAgent(2),
            ControlServer(PORTS.control),
            links=False,
        )
        self.said = []
        self.simulation.console.say = lambda t_us, vehicle, severity, text: self.said.append(text)
        self.clients, self.genuine = [], _connected()
        self._check_status()

    def make(self, rng, index):
        """(client, bytes) to send, one after the other."""
        made = []
        for _ in range(rng.choice((1, 1, 1, 3))):
            pick, request = rng.random(), rng.choice(GOOD)
            if pick < 0.3:
                data = _text(_extreme(rng, request)) + b"\n"
            elif pick < 0.7:
                request = mutated_tree(rng, request)
                data = _text(request) + b"\n"
            elif pick < 0.85:
                data = mutated_bytes(rng, _text(request) + b"\n")
            elif pick < 0.9:
                data = _text(request)  # without an end
            elif pick < 0.95:
                data = b'{"op": "status"}\n' * rng.choice((100, 2000))
            else:
                data = (
                    _text(
                        {
                            "op": "event",
                            "event": "x",
                            "values": {"a": nested(rng.choice((20, 900)))},
                        }
                    )
                    + b"\n"
                )
            made.append((rng.randrange(2 * MAX_CLIENTS) if rng.random() < 0.3 else 0, data))
        return made

    def try_one(self, value):
        """Sends, ticks, asks for the status as a client that means well."""
        self.said.clear()
        for client, data in value:
            self._send(client, data)
            self.simulation.requests.answer()
        self._tick()
        failed = [text for text in self.said if " failed, please report" in text]
        if failed:
            raise Crash(failed[0])
        if self.simulation.stopping:
            raise Nonsense("the simulation was ended")
        self._check_status()
        state = self.simulation.state
        if not (
            np.isfinite(state.pos).all()
            and np.isfinite(state.quat).all()
            and np.isfinite(state.vel).all()
        ):
            raise Nonsense("the state is not finite")
        if not (math.isfinite(self.simulation.pacer.speed) and self.simulation.t_us < 1 << 53):
            raise Nonsense("the clock is not a number")

    def close(self):
        """Ends it."""
        for sock in (self.genuine, *self.clients):
            sock.close()
        self.simulation.close()

    def _tick(self):
        simulation = self.simulation
        simulation.pacer.resume()
        simulation.pacer.set_speed(0.0, simulation.t_us)
        try:
            for _ in range(TICK):
                simulation.step()
        except XtdroneError as error:
            raise Crash(f"the flight has ended: {error}") from error
        # The barrier is tried by a test of its own, with its time-outs.
        simulation.requests.server.wait_for_nobody()
        if simulation.t_us % 20_000 == 0:
            simulation.requests.tick()

    def _send(self, client, data):
        while len(self.clients) <= client:
            self.clients.append(_connected())
        sock = self.clients[client]
        try:
            while True:  # read the answers, so that the simulation need not wait
                if not sock.recv(1 << 20):
                    raise ConnectionResetError
        except BlockingIOError:
            pass
        except OSError:
            sock.close()
            sock = self.clients[client] = _connected()
        try:
            sock.send(data)
        except OSError:
            pass

    def _check_status(self):
        self.genuine.send(b'{"op": "status"}\n')
        data = b""
        for _ in range(50):
            self.simulation.requests.server.poll(self.simulation.requests.handle, 0.01)
            try:
                got = self.genuine.recv(1 << 20)
            except BlockingIOError:
                continue
            if not got:
                raise Crash("a client that means well was dropped")
            data += got
            if data.endswith(b"\n"):
                if json.loads(data).get("n") == 2:
                    return
                raise Nonsense(f"the status is {data!r}")
        raise Crash("the status is not answered")


def _extreme(rng, tree):
    """A request with some of its numbers replaced by extreme ones."""
    if isinstance(tree, dict):
        return {key: _extreme(rng, value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_extreme(rng, value) for value in tree]
    if isinstance(tree, str) and " " in tree:  # of a disturbance
        return " ".join(str(number(rng)) if rng.random() < 0.3 else word for word in tree.split())
    return number(rng) if isinstance(tree, (int, float)) and rng.random() < 0.3 else tree


def _connected():
    sock = socket.create_connection(("127.0.0.1", PORTS.control))
    sock.setblocking(False)
    return sock


def _text(tree) -> bytes:
    """As JSON, or as near as it gets."""
    try:
        return json.dumps(tree).encode(errors="surrogatepass")
    except TypeError:  # a key that JSON does not have
        return repr(tree).encode(errors="surrogatepass")
    except RecursionError:
        return b'{"op": "event", "event": "x", "values": {"a": ' + b"[" * 5000
