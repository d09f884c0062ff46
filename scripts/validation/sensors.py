"""Sensors against Allan deviation and OpenCV: writes docs/validation/sensors.md.

python scripts/validation/sensors.py
python scripts/validation/sensors.py cameras
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from _report import Page

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))  # estimators shared with the tests

import allan  # noqa: E402
import calibration  # noqa: E402
from sensor_models.lens import Lens  # noqa: E402
from xtdrone_core import plot_style  # noqa: E402

CAMERA_COLUMNS = "camera", "check", "given", "found", "deviation", "bound", "holds"
ERRORS = 3.0  # bound, in standard errors
DENSITY_SAMPLES, DENSITY_STREAMS = 100_000, 24
BIAS_LENGTHS, BIAS_STREAMS = 15, 24  # length of each stream, in correlation times
SHORT_SAMPLES, SHORT_STREAMS = 50_000, 8  # for the white-noise end of a curve, plotted only
PANELS = {
    ("imu", "gyroscope"): "rad/s",
    ("imu", "accelerometer"): "m/s²",
    ("magnetometer", "noise"): "T",
    ("barometer", "noise"): "Pa",
    ("gps", "horizontal"): "m",
    ("gps", "vertical"): "m",
}


def noise(page: Page) -> None:
    """Table I of every preset from streams at the sensor's own rate."""
    page.add(
        "## Noise",
        "",
        "Streams of the kernel that the simulation runs, at each sensor's own rate, true "
        "value 0, no rounding to bits; overlapping Allan deviation by allantools. Noise "
        f"density: deviation at one period, mean of {DENSITY_STREAMS} streams of "
        f"{DENSITY_SAMPLES} readings, with the standard error of that mean. Random walk and "
        "correlation time: fit of white noise plus Gauss-Markov bias to the mean Allan "
        f"variance of {BIAS_STREAMS} streams of {BIAS_LENGTHS} correlation times each, at "
        "14 averaging times; standard errors by the jackknife over the streams. A row holds "
        f"where the estimate lies within {ERRORS:g} standard errors of the parameter, and a "
        "noise density also within 5 %. SI units of each quantity.",
    )
    page.table(
        "quantity", "parameter", "given", "estimate", "standard error", "off by (errors)", "holds"
    )
    figure, axes = plot_style.panels(2, 3, 13, 7.5)
    panels = dict(zip(PANELS, axes.flat))
    for quantity in allan.quantities():
        found = [allan.density(quantity, DENSITY_SAMPLES, DENSITY_STREAMS)]
        if quantity.walks:
            walk, time, taus, curve = allan.bias(
                quantity, 1.0 / quantity.rate, BIAS_LENGTHS, BIAS_STREAMS
            )
            found += [walk, time]
            panel = panels.get((quantity.kind, quantity.field))
            if panel is not None:
                draw(panel, quantity, taus, curve)
        for estimate in found:
            good = estimate.off < ERRORS and (
                estimate.name != "noise_density"
                or abs(estimate.value / estimate.expected - 1.0) < 0.05
            )
            word = page.holds(
                f"{quantity} {estimate.name}: {estimate.value:.4g}, "
                f"off by {estimate.off:.2f} standard errors",
                good,
            )
            page.row(
                f"{quantity.kind} {quantity.preset}, {quantity.field}",
                estimate.name,
                f"{estimate.expected:.4g}",
                f"{estimate.value:.4g}",
                f"{estimate.error:.2g}",
                f"{estimate.off:.2f}",
                word,
            )
    page.add()
    for (kind, field), panel in panels.items():
        panel.set(
            title=kind if field == "noise" else f"{kind}, {field}",
            xlabel="averaging time [s]",
            ylabel=f"Allan deviation [{PANELS[kind, field]}]",
        )
        plot_style.legend(panel, below=True)
    page.picture(
        "Allan deviations of the presets: points measured, lines by the parameters", figure, "allan"
    )


def draw(panel, quantity, taus, curve) -> None:
    """Plots the measured points and the curve that the parameters predict."""
    period, n = 1.0 / quantity.rate, quantity.noise
    longest = min(taus[0] / 1.5, 0.1 * SHORT_SAMPLES * period)
    short = np.unique(np.round(np.geomspace(1.0, longest / period, 7))) * period
    white = allan.variances(quantity, period, SHORT_SAMPLES, SHORT_STREAMS, short).mean(axis=0)
    (line,) = panel.loglog(
        [*short, *taus], [*np.sqrt(white), *curve], "o", ms=4, label=quantity.preset
    )
    fine = np.geomspace(period, taus[-1], 200)
    promised = np.sqrt(allan.theory(fine, n.noise_density, n.random_walk, n.bias_correlation_time))
    panel.loglog(fine, promised, "-", lw=1, color=line.get_color())


def cameras(page: Page) -> None:
    """Camera calibration with a rendered checkerboard, and stereo depth of a wall."""
    page.add(
        "## Cameras",
        "",
        "A checkerboard of 12 x 9 squares of 0.1 m, rendered from 40 poses with noise and "
        "four samples per pixel, calibrated by OpenCV, which knows nothing of the camera. "
        "Undistortion: corners straightened by OpenCV with the given parameters against a "
        "plane's perspective image. Projection: found corners against Brown-Conrady written "
        "out apart from the renderer's code, at the true poses.",
    )
    page.table(*CAMERA_COLUMNS)
    with tempfile.TemporaryDirectory() as folder:
        board = calibration.checkerboard_world(Path(folder) / "board.world")
        cases = [
            ("mt9v034", {}),
            ("mt9v034_distorted", {}),
            ("mt9v034_distorted", {"skew": 4}),
            ("mt9v034_distorted", {"distortion_center": "0.53 0.46"}),
            ("mt9v034_distorted", {"k3": 0.01, "p1": 0.002, "p2": -0.003}),
        ]
        for preset, tags in cases:
            shot = calibration.camera(preset, anti_aliasing=4, **tags)
            views = calibration.photograph(
                board, Lens(shot, 1, 0, 200), calibration.places_around(40 if not tags else 12)
            )
            label = ", ".join([preset, *(f"{k} {v}" for k, v in tags.items())])
            if not tags:
                intrinsics(page, label, shot, views)
                if preset == "mt9v034_distorted":
                    picture = board_picture(shot, views)
            rms, mean = calibration.projected_error(views, shot)
            row(page, label, "corners against projection, RMS [px]", 0.0, rms, rms, 0.1)
            row(
                page,
                label,
                "corners against projection, mean [px]",
                0.0,
                np.abs(mean).max(),
                np.abs(mean).max(),
                0.02,
            )
        page.add()
        page.add(
            "### Stereo depth",
            "",
            "A wall of random tiles before an MT9V034 pair with a baseline of 0.12 m: median "
            "depth by OpenCV's semi-global matching, allowed half a pixel of disparity; and "
            "the shift of the whole image by phase correlation, allowed a tenth.",
        )
        page.table(*CAMERA_COLUMNS)
        for distance in (2.0, 3.0, 5.0, 8.0):
            wall = calibration.wall_world(Path(folder) / "wall.world", distance)
            found = calibration.range_wall(wall, distance)
            row(
                page,
                "mt9v034 pair",
                f"depth at {distance:g} m [m]",
                distance,
                found.median_depth,
                abs(found.median_depth - distance),
                0.5 * found.depth_per_pixel,
            )
            row(
                page,
                "mt9v034 pair",
                f"disparity at {distance:g} m [px]",
                found.disparity,
                found.shift,
                abs(found.shift - found.disparity),
                0.1,
            )
        page.add()
    page.picture(
        "A rendered checkerboard and the residuals of its corners", picture, "checkerboard"
    )


def row(page, camera, check, given, found, deviation, bound) -> None:
    """One row of the camera table."""
    word = page.holds(f"{camera}: {check} {found:.5g}, off by {deviation:.3g}", deviation <= bound)
    page.row(
        camera, check, f"{given:.6g}", f"{found:.6g}", f"{deviation:.2g}", f"{bound:.2g}", word
    )


def intrinsics(page, label, shot, views) -> None:
    """Rows of OpenCV's calibration results."""
    rms, matrix, _, used = calibration.calibrate(views, (shot.width, shot.height))
    page.row(
        label,
        "views that OpenCV used, reprojection RMS [px]",
        len(views),
        f"{used}, {rms:.3f}",
        "",
        "",
        "",
    )
    for name, found in (
        ("fx", matrix[0, 0]),
        ("fy", matrix[1, 1]),
        ("cx", matrix[0, 2]),
        ("cy", matrix[1, 2]),
    ):
        given = getattr(shot, name)
        row(page, label, f"{name} [px], relative", given, found, abs(found / given - 1.0), 0.005)
    bent = calibration.straightness(views, shot)
    row(page, label, "undistortion residual, RMS [px]", 0.0, bent, bent, 0.1)


def board_picture(shot, views):
    """Figure of one view and of all residuals."""
    view = next(view for view in views if calibration.find_corners(view) is not None)
    figure, (left, right) = plot_style.panels(1, 2, 13, 4.5)
    left.imshow(view.image, cmap="gray", vmin=0, vmax=255)
    left.plot(*calibration.textbook_pixels(view, shot).T, "r+", ms=5)
    left.grid(False)
    left.set(
        title="rendered; crosses where Brown-Conrady puts the corners",
        xlabel="column [px]",
        ylabel="row [px]",
    )
    for each in views:
        corners = calibration.find_corners(each)
        if corners is not None:
            right.plot(*(corners - calibration.textbook_pixels(each, shot)).T, "b.", ms=2)
    right.set(
        title="found minus projected corners",
        xlabel="along the row [px]",
        ylabel="along the column [px]",
        aspect="equal",
        xlim=(-0.4, 0.4),
        ylim=(-0.4, 0.4),
    )
    return figure


def main() -> int:
    """Runs the named checks or all; writes the page; returns 1 if a bound was exceeded."""
    parts = {"noise": noise, "cameras": cameras}
    wanted = sys.argv[1:] or list(parts)
    page = Page("sensors")
    page.add(
        "# Sensors",
        "",
        "Made by `scripts/validation.sh sensors`; the same checks, shorter, are in "
        "`tests/test_validation_*.py` and `tests/test_sensors_*.py`. Presets and where their "
        "values come from: `src/sensor_models/presets.yaml`.",
    )
    for name in wanted:
        parts[name](page)
    return page.write() if wanted == list(parts) else int(bool(page.broken))


if __name__ == "__main__":
    sys.exit(main())
