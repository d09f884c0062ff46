"""Results of teams beside each other, as text and as a page."""

import html
from collections.abc import Sequence
from typing import Any

COLUMNS = ("challenge", "team", "score", "flights", "best", "worst", "not done")


def rows(results: Sequence[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Returns a row for each result, best first in each challenge."""
    ordered = sorted(results, key=lambda result: (result["challenge"], -result["score"]))
    out: list[tuple[str, ...]] = []
    for result in ordered:
        points = [flight["points"] for flight in result["flights"]] or [0.0]
        failed = sum(flight["status"] != "done" for flight in result["flights"])
        figures = (f"{result['score']:.1f}", str(len(result["flights"])))
        extremes = (f"{max(points):.1f}", f"{min(points):.1f}", str(failed))
        out.append((result["challenge"], result["team"], *figures, *extremes))
    return out


def text(results: Sequence[dict[str, Any]]) -> str:
    """Returns the table in columns."""
    lines = [COLUMNS, *rows(results)]
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines
    )


def page(results: Sequence[dict[str, Any]]) -> str:
    """Returns the table as a page of HTML."""

    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "\n".join([line(COLUMNS, "th"), *(line(row, "td") for row in rows(results))])
    style = "body{font:16px sans-serif;margin:2em}td,th{padding:.3em 1em;text-align:left}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Challenges</title>'
        f"<style>{style}</style></head><body><h1>Challenges</h1>\n<table>\n{body}\n</table>\n"
        "</body></html>\n"
    )
