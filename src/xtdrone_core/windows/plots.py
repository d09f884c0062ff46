"""Plots that follow data as it comes: panels in the style of the figures."""

import pyqtgraph as pg
from PySide6 import QtCore

_AXIS_WIDTH = 58  # width of the numbers at the left [pixels]
_GRID_ALPHA = 0.15
DASHED = QtCore.Qt.PenStyle.DashLine


def set_style(antialias: bool = True) -> None:
    """Sets the colours of all plots; call it before a window is made."""
    pg.setConfigOptions(background="w", foreground="k", antialias=antialias)


# pyqtgraph has no annotations of its items: a plot is Any here.
def add_panel(
    window: pg.GraphicsLayoutWidget,
    row: int,
    column: int,
    label: str,
    title: str = "",
    rows: int = 1,
    axis_width: int = _AXIS_WIDTH,
) -> pg.PlotItem:
    """Adds a plot to a window.

    Args:
        window: The window.
        row, column: Place of the plot.
        label: Of its vertical axis, with the unit.
        title: Above it.
        rows: Number of rows that it fills.
        axis_width: Of the numbers at the left, equal for plots below each other [pixels].
    """
    plot = window.addPlot(row=row, col=column, rowspan=rows)
    if title:
        plot.setTitle(f"<b>{title}</b>", size="9pt", justify="left")
    plot.setLabel("left", label)
    plot.getAxis("left").setWidth(axis_width)
    for side in ("left", "bottom"):
        plot.getAxis(side).enableAutoSIPrefix(False)
    plot.showGrid(x=True, y=True, alpha=_GRID_ALPHA)
    plot.hideButtons()
    return plot


def share_time(plots: list[pg.PlotItem], label: str) -> None:
    """Links the time axes of plots below each other; the lowest has the label."""
    for plot in plots[1:]:
        plot.setXLink(plots[0])
    plots[-1].setLabel("bottom", label)
