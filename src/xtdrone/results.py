"""Figures and films of a recorded run, for notebooks."""

from pathlib import Path
from typing import Any

_SIZE, _IMAGES_PER_S = (640, 360), 12.5


def plot(folder: Path | str, figure: str = "map") -> Path:
    """Draws a figure of a run into its plots/ and returns the path of the PNG.

    Args:
        folder: Folder of the run, as Simulation.folder; or its name, or latest.
        figure: map, map3d, position, velocity, attitude and so on, see `xtdrone plot --help`.

    Raises:
        XtdroneError: No such run or figure, or the run holds nothing for it.

    Examples:
        >>> import xtdrone as xd
        >>> with xd.Simulation(xd.Scenario(vehicles="iris", gps="rtk"), record=True) as sim:
        ...     sim.run(1.0)
        >>> xd.plot(sim.folder, "position").name
        'position.png'
    """
    from xtdrone_core.errors import XtdroneError, unknown_name
    from xtdrone_core.runs import run_folder
    from xtdrone_plots.figures import FIGURES, draw
    from xtdrone_plots.run import Run

    if figure not in FIGURES:
        raise XtdroneError(unknown_name("figure", figure, FIGURES))
    path: Path = next(iter(draw(Run(run_folder.find(str(folder))), (figure,))))
    return path


def film(
    folder: Path | str,
    path: Path | str,
    *,
    speed: float = 2.0,
    camera: str = "orbit",
    size: tuple[int, int] = _SIZE,
    fps: float = _IMAGES_PER_S,
) -> Path:
    """Renders a run as MP4 or GIF, or its start as PNG, and returns the path.

    Args:
        folder: Folder of the run, as Simulation.folder; or its name, or latest.
        path: Path of the film: .mp4 (needs the package av), .gif or .png.
        speed: Simulated seconds per second of the film.
        camera: fleet, orbit, follow, top or still.
        size: Width and height [pixels].
        fps: Images per second.

    Raises:
        XtdroneError: No such run or camera, or the film cannot be rendered or written.
    """
    from xtdrone_core.errors import XtdroneError, unknown_name
    from xtdrone_core.runs import run_folder
    from xtdrone_sim.viewing import film as films
    from xtdrone_sim.viewing.camera_kinds import CAMERAS
    from xtdrone_sim.viewing.cameras import Camera
    from xtdrone_sim.viewing.flights import Replay
    from xtdrone_sim.viewing.stage import Stage

    if camera not in CAMERAS:
        raise XtdroneError(unknown_name("camera", camera, CAMERAS))
    if not (speed > 0.0 and fps > 0.0):
        raise XtdroneError(
            f"speed {speed} and fps {fps} of a film are not allowed: give numbers above 0"
        )
    target = films.free_for(path)
    flight: Any = Replay(run_folder.find(str(folder)))
    films.check_length(target, films.image_count(flight.start_s, flight.end_s, speed, fps), size)
    stage = Stage(flight, Camera(camera), size)
    try:
        films.write(
            target,
            films.images(stage, flight.start_s, flight.end_s, speed, fps, size),
            fps,
            stage.colours,
        )
    finally:
        stage.close()
    return target
