"""Pictures and films of a task: an environment, its vehicles, their trails and their goals.

They are drawn off screen by the scene of `xtdrone view`, on the processor where there is no
graphics card.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.colors import to_rgb

from xtdrone_batch.errors import BatchError
from xtdrone_batch.scenes import KINDS, MESH, NO_OBJECT, PLANE, Scenes
from xtdrone_core import VehicleSpec, plot_style
from xtdrone_sim.vehicles.look import Look
from xtdrone_sim.vehicles.pose import Pose
from xtdrone_sim.vehicles.shapes import Shape
from xtdrone_sim.vehicles.triangles import Mesh
from xtdrone_sim.viewing import film, overlay
from xtdrone_sim.viewing.camera_kinds import CAMERAS
from xtdrone_sim.viewing.cameras import Camera
from xtdrone_sim.viewing.flights import TRAIL_S, blank_state
from xtdrone_sim.viewing.scene import FlightScene, Trails, pixels
from xtdrone_sim.world import load_world
from xtdrone_sim.world.models import WorldModel

from .task_batch import TaskBatch

if TYPE_CHECKING:
    import mujoco

SIZE = 640, 480  # width and height of an image [pixels]
FPS = 25.0  # frames per second of a film
_MARGIN, _CAMERA_MARGIN = 0.7, 1.3  # margins around vehicles and goals, here and of a Camera [m]
_FAR = 8.0  # goals that are further away need not be in view [m]
_GOAL, _GOAL_RADIUS = "goal", 0.1  # name and size [m] of what marks a goal
_GOAL_ALPHA = 0.4
_UNSEEN = 2  # a group of shapes that the camera need not keep in view
_KIND_NAMES = {number: name for name, number in KINDS.items()}
_SIZES = {"box": 3, "sphere": 1, "cylinder": 2, "plane": 2, "mesh": 3}  # numbers of Shape.size
_ORIGIN = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


class _SharedMesh(NamedTuple):
    """A mesh of Scenes, for a Shape."""

    mesh: Mesh

    def parts(self) -> tuple[Mesh, ...]:
        """Returns the mesh."""
        return (self.mesh,)


class _TaskScene(FlightScene):
    """A scene whose goals do not stand in the camera's way."""

    def build(self, inserted: Sequence[WorldModel]) -> "mujoco.MjModel":
        """Builds the scene; goals are in a group of their own."""
        model = super().build(inserted)
        goals = [model.body(each.name).id for each in inserted if each.name.startswith(_GOAL)]
        model.geom_group[np.isin(model.geom_bodyid, goals)] = _UNSEEN
        return model


class View:
    """Draws one environment of a TaskBatch. All calls must come from one thread.

    Each image adds a point to the trails, so that they are smooth if every step is drawn.
    """

    def __init__(
        self,
        tasks: TaskBatch,
        environment: int = 0,
        size: tuple[int, int] = SIZE,
        camera: str = "still",
    ):
        """Builds the scene.

        Args:
            tasks: The environments.
            environment: Index of the one that is drawn.
            size: Width and height of an image [pixels].
            camera: One of CAMERAS; the one that stands still keeps vehicles and goals in view.

        Raises:
            BatchError: There is no such environment or camera.
        """
        if not 0 <= environment < tasks.environments:
            raise BatchError(
                f"environment {environment} cannot be drawn: give 0 to {tasks.environments - 1}"
            )
        if camera not in CAMERAS:
            raise BatchError(f"there is no camera '{camera}': give one of {', '.join(CAMERAS)}")
        self._tasks, self._environment, self.size = tasks, environment, size
        models = tasks.batch.model.vehicles
        self._names = [f"vehicle_{i}" for i in range(len(models))]
        self.colours = np.array(
            [to_rgb(plot_style.vehicle_color(i, len(models))) for i in range(len(models))]
        )
        self._state = blank_state(models)
        self._camera = Camera(camera)
        self._past: list[tuple[int, np.ndarray]] = []
        self._shown: np.ndarray | None = None  # objects as they were when the scene was compiled
        self._inserted: tuple[WorldModel, ...] = ()
        objects = self._objects()
        shapes = tuple(
            _shape(each, tasks.batch.scenes, pose=_pose(each))
            for each in objects[objects["kind"] == PLANE]
        )
        specs = [
            VehicleSpec(model.type, name, (0.0, 0.0, 0.0), 0.0)
            for model, name in zip(models, self._names)
        ]
        self._scene = _TaskScene(replace(load_world("empty"), shapes=shapes), specs, models, size)
        self._span = 2.0 * max(
            (float(np.hypot(*rotor.pos[:2])) for model in models for rotor in model.rotors),
            default=0.5,
        )

    def image(self, note: str = "") -> np.ndarray:
        """Returns an image of the environment, (h, w, 3) uint8, the first row the highest.

        Args:
            note: Text at the lower left.

        Raises:
            EngineError: Nothing here can render.
        """
        dt = self._update()
        state = self._state
        goals = self._goals()
        away = np.linalg.norm(goals - state.pos[: len(goals)], axis=1)
        points = np.concatenate([state.pos, goals[away < _FAR]])
        trail = np.stack([pos for _, pos in self._past])
        reach = 0.5 * float(np.linalg.norm(np.ptp(points, axis=0)))
        self._camera.zoom = (reach + _MARGIN) / (reach + _CAMERA_MARGIN)
        inserted = self._models()
        self._scene.show(state, self.size[1], Trails(trail, self.colours), inserted, points)
        view = self._camera.view(
            self._scene, state, points, self.size[0] / self.size[1], self._span, dt
        )
        image = self._scene.picture(view, self.size)
        names = self._names if len(self._names) > 1 else ()
        return overlay.draw(
            image,
            pixels(state.pos, view, self.size),
            names,
            self.colours,
            (f"{state.t_us * 1e-6:.1f} s", self._tasks.task.name, note),
        )

    def close(self) -> None:
        """Frees the scene. May be called twice."""
        self._scene.close()

    def _update(self) -> float:
        """Takes over the state; returns the simulated time since the last image [s]."""
        environment, s, state = self._environment, self._tasks.batch.host_state(), self._state
        t_us = int(self._tasks.batch.t_us[environment])
        if self._past and t_us < self._past[-1][0]:  # another episode
            self._past.clear()
            self._camera.cut()
        dt = 1e-6 * (t_us - self._past[-1][0]) if self._past else 0.0
        state.t_us = t_us
        state.pos[:], state.quat[:], state.joint_pos[:] = (
            s.pos[environment],
            s.quat[environment],
            s.joint_pos[environment],
        )
        self._past.append((t_us, state.pos.copy()))
        while t_us - self._past[0][0] > TRAIL_S * 1e6:
            self._past.pop(0)
        return dt

    def _objects(self) -> np.ndarray:
        objects = self._tasks.batch.scenes.objects
        return objects[self._environment % len(objects)]

    def _goals(self) -> np.ndarray:
        """Returns the places of the goals (V, 3), of a task that has any."""
        tasks, environment = self._tasks, self._environment
        if tasks.task.goal_positions is None:
            return np.zeros((0, 3))
        return np.asarray(
            tasks.task.goal_positions(tasks.goal[environment], tasks.memory[environment]),
            dtype=float,
        )

    def _models(self) -> tuple[tuple[WorldModel, ...], np.ndarray]:
        """Returns objects and goals as models with their states; new models after a change."""
        objects = self._objects()
        objects = objects[(objects["kind"] != NO_OBJECT) & (objects["kind"] != PLANE)]
        looks = objects[["kind", "mesh", "size", "colour"]]
        goals = self._goals()
        if self._shown is None or not np.array_equal(looks, self._shown):
            self._shown = looks.copy()
            scenes = self._tasks.batch.scenes
            self._inserted = (
                *(_model(f"object/{k}", _shape(each, scenes)) for k, each in enumerate(objects)),
                *(
                    _model(
                        f"{_GOAL}/{i}",
                        Shape(
                            _GOAL,
                            "sphere",
                            (_GOAL_RADIUS,),
                            Pose(),
                            False,
                            Look((*self.colours[i], _GOAL_ALPHA)),
                        ),
                    )
                    for i in range(len(goals))
                ),
            )
        states = np.tile(_ORIGIN, (len(self._inserted), 1))
        count = len(objects)
        states[:count, :3], states[:count, 3:] = objects["pos"], objects["quat"]
        states[count:, :3] = goals
        return self._inserted, states


def record(
    tasks: TaskBatch,
    path: Path | str,
    act: Callable[[np.ndarray], np.ndarray],
    *,
    seed: int = 0,
    seconds: float | None = None,
    environment: int = 0,
    size: tuple[int, int] = SIZE,
    camera: str = "still",
    fps: float = FPS,
) -> Path:
    """Flies one episode and writes it as a film, in real time.

    Args:
        tasks: The environments; all begin anew.
        path: Path of the file: .mp4, .gif, or .png for its first image.
        act: Returns actions (E, V, K) for observations (E, V, N), in the task's units.
        seed: Seed of the episode.
        seconds: Simulated time after which the film ends [s]; None for the end of the episode.
        environment: Index of the one that is drawn.
        size: Width and height [pixels].
        camera: See View.
        fps: Images a second, at most one for each step.

    Returns:
        The path.

    Raises:
        XtdroneError: The file cannot be written, or nothing here can render.
    """
    path = film.free_for(path)
    step_s = tasks.task.step_s
    every = max(1, round(1.0 / (fps * step_s)))
    span = tasks.task.seconds if seconds is None else min(seconds, tasks.task.seconds)
    steps = max(1, round(span / step_s))
    film.check_length(path, steps // every + 1, size)
    view = View(tasks, environment, size, camera)

    def images() -> Iterator[np.ndarray]:
        tasks.begin(seed=seed)
        yield view.image()
        for k in range(1, steps + 1):
            tasks.step(act(tasks.observation))
            if k % every == 0:
                yield view.image(f"reward {tasks.reward[environment].mean():.2f}")
            if tasks.done[environment]:
                return

    try:
        film.write(path, images(), 1.0 / (every * step_s), view.colours)
    finally:
        view.close()
    return path


def _model(name: str, shape: Shape) -> WorldModel:
    """Returns a model of a shape that is moved from outside."""
    return WorldModel(name, True, Pose(), (), (shape,))


def _shape(each: np.void, scenes: Scenes, pose: Pose = Pose()) -> Shape:
    """Returns an object (a record of Scenes) as a shape without collisions."""
    kind = _KIND_NAMES[int(each["kind"])]
    mesh: Any = None
    if each["kind"] == MESH:
        triangles = scenes.meshes[int(each["mesh"])]
        mesh = _SharedMesh(Mesh(triangles.points, triangles.faces))
    colour = tuple(map(float, each["colour"]))
    return Shape(
        kind,
        kind,
        tuple(map(float, each["size"][: _SIZES[kind]])),
        pose,
        False,
        Look((*colour, 1.0), given=True),
        mesh,
    )


def _pose(each: np.void) -> Pose:
    return Pose(tuple(map(float, each["pos"])), tuple(map(float, each["quat"])))
