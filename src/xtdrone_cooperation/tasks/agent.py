"""The Agent whose vehicles share out tasks and do them."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from xtdrone_core import Estimates, Mode, SetPoints
from xtdrone_core.errors import shown
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.arguments import Configured
from xtdrone_core.scenario.options import Option
from xtdrone_formation.declarations import Radio
from xtdrone_formation.network import Network

from ..errors import CooperationError
from .bundle import NOBODY, Bundle
from .hungarian import assign
from .legs import Legs
from .task import Task, random_tasks, read_tasks
from .ways import Ways

METHODS = ("cbba", "hungarian")
PERIOD_US = 200_000  # between two packets of a vehicle [us]
_SETTLE_PERIODS = 5  # a vehicle sets out once its tasks have been the same for so many


class TasksAgent(FlightAgent, Configured):
    """Take-off, tasks that the vehicles share out among themselves, return, landing.

    By `cbba` each bids for tasks and tells the others over links with a delay, losses and a
    range; by `hungarian` somebody who knows everything assigns them. Each flies at a height of
    its own. Who is lost lands where it is, and the others do its tasks. In addition to the
    events of FlightAgent: `task` (vehicle, task, state: begun, done, or "done as well" where
    another one had it), `lost` (vehicle), `agreed` (tasks of each vehicle).
    """

    FIXED: ClassVar[tuple[str, ...]] = ("climb_speed", "land_from", "time_out")
    MEMORY: ClassVar[tuple[str, ...]] = (
        *FlightAgent.MEMORY,
        "bundles",
        "network",
        "legs",
        "is_lost",
        "_doing",
        "_states",
        "_since_us",
        "_stay_us",
        "_paths",
        "_figures",
        "_finished",
    )

    def __init__(
        self,
        n: int = 6,
        tasks: Annotated[
            str | Sequence[Task],
            Option(
                "CSV file with the columns name,kind,x,y and, if wanted, size,seconds,to_x,to_y",
                unset="count visits at random places",
            ),
        ] = "",
        count: Annotated[int, Option("of random tasks", minimum=1, maximum=1000)] = 30,
        area: Annotated[
            float, Option("side of the square of random tasks", unit="m", minimum=1.0, maximum=1e4)
        ] = 80.0,
        task_seed: Annotated[int, Option("of random tasks", minimum=0, maximum=2**31)] = 1,
        method: Annotated[str, Option("who assigns the tasks", choices=METHODS)] = "cbba",
        lost: Annotated[
            str, Option("vehicles that are lost, and when: VEHICLE@SECONDS; ...", unset="none")
        ] = "",
        silence: Annotated[
            float,
            Option("without news after which a vehicle counts as lost", unit="s", minimum=0.5),
        ] = 3.0,
        speed: Annotated[float, Option("largest", unit="m/s", minimum=0.5, maximum=20.0)] = 5.0,
        acceleration: Annotated[
            float, Option("largest", unit="m/s^2", minimum=0.5, maximum=20.0)
        ] = 3.0,
        height: Annotated[
            float, Option("of the lowest vehicle", unit="m", minimum=1.0, maximum=500.0)
        ] = 4.0,
        layer: Annotated[
            float, Option("height between two vehicles", unit="m", minimum=0.5, maximum=50.0)
        ] = 1.5,
        on_event: Callable[..., None] | None = None,
        **options: Annotated[Any, Radio],  # fields of Radio
    ) -> None:
        """Reads or draws the tasks, or takes Tasks.

        on_event(t_us, name, **values) is called at each event.
        **options are fields of Radio: the delay, loss and range of the links.

        Raises:
            XtdroneError: The tasks cannot be read, or a value is not allowed.
        """
        super().__init__(n, height, on_event=on_event)
        radio = Radio(**options)
        self.tasks: list[Task] = []
        if not isinstance(tasks, str):
            self.tasks = list(tasks)
        elif tasks:
            self.tasks = read_tasks(tasks)
        self.tasks = self.tasks or random_tasks(count, area, task_seed)
        self.ways = Ways(self.tasks)
        self._central = method == "hungarian"
        self._lost_s = _read_lost(lost, n)
        self._silence_us = round(1e6 * max(silence, 2.0 * radio.delay))
        self._layer = layer
        self.bundles = [Bundle(i, n, self.ways) for i in range(n)]
        self.network = Network([(i, j) for i in range(n) for j in range(n) if i != j], n, radio)
        self.legs = Legs(n, speed, acceleration)
        self.is_lost = np.zeros(n, dtype=np.bool_)
        self._doing = np.full(n, NOBODY)  # task that each flies, though it may be taken from it
        self._states = ["rise"] * n  # then wait, fly, stay, home, over
        self._since_us = np.zeros(n, dtype=np.int64)  # when each path last changed
        self._stay_us = np.zeros(n, dtype=np.int64)  # until when each stays
        self._paths: list[list[int]] = [[] for _ in range(n)]
        self._finished: list[list[int]] = [[] for _ in range(n)]  # what each has done
        self._figures: dict[str, float] = {}
        self._settle_us = round(_SETTLE_PERIODS * (PERIOD_US + 1e6 * radio.delay))
        self._most = math.ceil(len(self.tasks) / n)
        self._steps = {"rise": self._rise, "wait": self._wait_for_work, "stay": self._stay}
        self._steps |= {"fly": self._arrive, "home": self._come_home}

    def begin(self, t_us: int, estimates: Estimates) -> None:
        """Sends each vehicle to its own height; the central method assigns the tasks."""
        for i in range(self.n):
            here = self._above(i, self.home[i, :2])
            self.legs.begin(i, t_us, self.home[i] + [0.0, 0.0, self.height], [here])
        self._since_us[:] = t_us
        baseline = assign(self.ways, self.home[:, :2], range(len(self.tasks)))
        self._figures["begun_s"] = t_us * 1e-6
        self._figures["hungarian_way_m"] = self._way_of(baseline)
        if self._central:
            for bundle, path in zip(self.bundles, baseline):
                bundle.take(path)

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Exchanges packets and flies on; returns True when all have returned."""
        self._lose(t_us, estimates, out)
        if t_us % PERIOD_US < self.period_us:
            self._exchange(t_us, estimates.pos)
        for i in np.flatnonzero(~self.is_lost).tolist():
            state = self._states[i]
            if state in self._steps and self.legs.is_over(i, t_us):
                self._steps[state](i, t_us)
            out.pos[i], out.vel[i], out.acc[i] = self.legs.at(i, t_us)
        return all(state == "over" for state in self._states)

    def goals_reached(self) -> dict[str, tuple[int, int]]:
        """Returns how many tasks were done, of how many."""
        return {"tasks": (len({task for each in self._finished for task in each}), len(self.tasks))}

    def slot_positions(self, t_us: int, pos: np.ndarray) -> np.ndarray:
        """Returns where each vehicle flies to (N, 3) [m], which the page marks."""
        ends = self.legs.ends()
        ends[self.is_lost | (self._phase != "fly")] = np.nan
        return ends

    def report(self, folder: Path | str) -> dict[str, Any]:
        """Draws who did what, and keeps and prints the figures."""
        from .picture import draw  # slow to import

        metrics = self.metrics()
        run_folder.update_summary(Path(folder), **metrics)
        for name, value in metrics.items():
            print(f"{name}: {value}")
        draw(Path(folder), self.tasks, self._finished)
        return metrics

    def metrics(self) -> dict[str, Any]:
        """Returns what is measured of a flight, for its summary."""
        done, count = self.goals_reached()["tasks"]
        out: dict[str, Any] = {
            "method": METHODS[self._central],
            "tasks_done": done,
            "tasks": count,
            "tasks_done_twice": sum(map(len, self._finished)) - done,
            "vehicles_lost": int(self.is_lost.sum()),
            "way_m": round(float(self.legs.flown.sum()), 1),
            **{name: round(value, 2) for name, value in self._figures.items()},
            "messages_sent": self.network.sent,
            "messages_lost": self.network.lost,
        }
        if "agreed_way_m" in out:
            out["agreed_to_hungarian"] = round(out["agreed_way_m"] / out["hungarian_way_m"], 3)
        return out

    def _lose(self, t_us: int, estimates: Estimates, out: SetPoints) -> None:
        """Lands who is lost by the option, and takes who has disarmed in flight for lost."""
        for i in range(self.n):
            due = t_us * 1e-6 >= self._lost_s.get(i, math.inf) or not estimates.armed[i]
            if due and not self.is_lost[i] and self._states[i] != "over":
                self.is_lost[i] = self.network.silent[i] = True
                self._states[i] = "over"
                self.event(t_us, "lost", vehicle=i)
                if self._central:
                    self._assign_again()
            if self.is_lost[i] and estimates.armed[i] and estimates.mode[i] != Mode.LAND:
                out.mode[i] = Mode.LAND

    def _assign_again(self) -> None:
        """Assigns what is open among those who are left."""
        left = np.flatnonzero(~self.is_lost).tolist()
        done = {task for each in self._finished for task in each}
        begun = {self.bundles[i].current for i in left}
        still_open = set(range(len(self.tasks))) - done - begun
        places = np.array([self._free_at(i) for i in left]).reshape(-1, 2)
        for i, path in zip(left, assign(self.ways, places, still_open)):
            self.bundles[i].take(path)
            self._go_on(i)

    def _exchange(self, t_us: int, pos: np.ndarray) -> None:
        """Sends what each knows, takes what has arrived, and bids."""
        if self._central:
            return
        packets = [bundle.packet(pos[i]) for i, bundle in enumerate(self.bundles)]
        self.network.exchange(t_us, np.array(packets))
        if self.n > 1:
            came = self.network.neighbours(t_us, np.arange(self.n))
            for i, sender, packet, age in zip(came.to, came.sender, came.packets, came.age):
                if age < np.inf and not self.is_lost[i]:
                    self.bundles[i].hear(int(sender), packet, t_us - round(1e6 * age))
        before = max(t_us - self._silence_us, 0)
        late = t_us - round(1e6 * self._figures["begun_s"]) > self._silence_us
        for i in np.flatnonzero(~self.is_lost).tolist():
            bundle = self.bundles[i]
            silent = bundle.forget_the_silent(before) if late else []
            still_open = int((~bundle.done).sum())
            spare = len(silent) > 0 or self._states[i] == "home"
            most = math.ceil(still_open / max(self.n - len(silent), 1)) if spare else self._most
            bundle.build(self._free_at(i), most)
            self._see_change(i, t_us)
            self._go_on(i)
        self._see_agreement(t_us)

    def _see_change(self, i: int, t_us: int) -> None:
        if self.bundles[i].path != self._paths[i]:
            self._paths[i] = self.bundles[i].path.copy()
            self._since_us[i] = t_us

    def _see_agreement(self, t_us: int) -> None:
        """Notes when all tasks were shared out for the first time."""
        if "agreed_s" in self._figures or (t_us - self._since_us < self._settle_us).any():
            return
        paths = [bundle.path for bundle in self.bundles]
        if sorted(task for path in paths for task in path) == list(range(len(self.tasks))):
            self._figures["agreed_s"] = (t_us - self._settle_us) * 1e-6 - self._figures["begun_s"]
            self._figures["agreed_way_m"] = self._way_of(paths)
            names = [[self.tasks[task].name for task in path] for path in paths]
            self.event(t_us, "agreed", tasks=names)

    def _go_on(self, i: int) -> None:
        """Has a vehicle that returns or waits at home take up work again."""
        if self.bundles[i].path and self._states[i] == "home":
            self._states[i] = "wait"

    def _rise(self, i: int, t_us: int) -> None:
        self._states[i] = "wait"

    def _wait_for_work(self, i: int, t_us: int) -> None:
        """Begins the next task once it is settled who does it; flies home if there is none."""
        settled = self._central or self._finished[i] or self._has_settled(t_us)
        if not settled:
            return
        bundle = self.bundles[i]
        task = bundle.begin()
        self._doing[i] = task
        if task == NOBODY:
            self._states[i] = "home"
            self.legs.go(i, t_us, [self._above(i, self.home[i, :2])])
            return
        self._states[i] = "fly"
        self.legs.go(i, t_us, [self._above(i, point) for point in self.tasks[task].way()])
        self.event(t_us, "task", vehicle=i, task=self.tasks[task].name, state="begun")

    def _has_settled(self, t_us: int) -> bool:
        return bool((t_us - self._since_us[~self.is_lost] >= self._settle_us).all())

    def _arrive(self, i: int, t_us: int) -> None:
        self._stay_us[i] = t_us + round(1e6 * self.tasks[self._doing[i]].seconds)
        self._states[i] = "stay"

    def _stay(self, i: int, t_us: int) -> None:
        if t_us < self._stay_us[i]:
            return
        task, bundle = int(self._doing[i]), self.bundles[i]
        kept = bundle.current == task
        if kept:
            bundle.finish()
        self._finished[i].append(task)
        state = "done" if kept else "done as well"
        self.event(t_us, "task", vehicle=i, task=self.tasks[task].name, state=state)
        self._doing[i] = NOBODY
        self._states[i] = "wait"

    def _come_home(self, i: int, t_us: int) -> None:
        """Waits at home until all that it knows of is done."""
        known = self.bundles[i].done
        if self._central:
            known = np.isin(
                np.arange(len(self.tasks)), [task for each in self._finished for task in each]
            )
        if known.all():
            self._states[i] = "over"

    def _above(self, i: int, point: np.ndarray) -> np.ndarray:
        """Returns a point (2,) at the height of a vehicle, (3,) [m]."""
        return np.array([*point, self.home[i, 2] + self.height + self._layer * i])

    def _free_at(self, i: int) -> np.ndarray:
        """Returns where a vehicle begins its next task (2,): the end of all that it flies [m]."""
        return self.legs.ends()[i, :2]

    def _way_of(self, paths: list[list[int]]) -> float:
        return sum(self.ways.length(self.home[i, :2], path) for i, path in enumerate(paths))


def _read_lost(text: str, n: int) -> dict[int, float]:
    """Reads "2@30; 4@60": which vehicle is lost when [s]."""
    out = {}
    for part in filter(None, map(str.strip, text.split(";"))):
        vehicle, _, seconds = part.partition("@")
        try:
            out[int(vehicle)] = float(seconds)
        except ValueError:
            raise CooperationError(
                f"lost '{shown(part)}' is not allowed: give VEHICLE@SECONDS, such as 2@30"
            ) from None
        if not 0 <= int(vehicle) < n:
            raise CooperationError(
                f"lost '{shown(part)}' is not allowed: give vehicles 0 to {n - 1}"
            )
    return out
