"""The report of a benchmark: Markdown, a self-contained HTML page, tables and plots."""

import base64
import html
from pathlib import Path

from ..errors import SlamError
from . import plots, tables
from .results import Flight

_STYLE = """
body { font: 15px/1.45 sans-serif; color: #222; max-width: 72em; margin: 2em auto; padding: 0 1em }
table { border-collapse: collapse; margin: 1em 0; font-size: 90% }
caption { text-align: left; font-weight: bold; padding: .3em 0; white-space: nowrap }
th, td { border-bottom: 1px solid #ccc; padding: .25em .7em; text-align: right }
th:first-child, td:first-child { text-align: left }
thead th { border-bottom: 2px solid #222 }
img { max-width: 100% } figure { margin: 1em 0 } figcaption { font-weight: bold }
"""
_NOTES = (
    "A run is good with {limits}. A run without a result failed; the others are poor. Cells are "
    "mean ± standard deviation over the good runs, so read them together with the number of good "
    "runs. If a system has no good run, they are those of its poor runs, and its name says so. The "
    "table of every run has each verdict and its reason.",
    "One core is 100 % CPU. CPU and memory are those of the system's process tree, sampled at "
    "10 Hz from the first answer to the end.",
    "A system gets the images at the times of their exposure (at speed 0, as soon as its input "
    "queue has space). The renderer is off unless the flight is live. A pair is dropped when four "
    "are queued already. Latency counts from the time of exposure.",
    "In the plots the first run of a system is bold and the others are faint. APE, RPE and "
    "alignment are computed by evo.",
)


def save(folder: Path, title: str, flights: list[Flight], command: str = "") -> str:
    """Writes report.md, report.html, tables/ and plots/ into a folder; returns the Markdown.

    Args:
        folder: Created if it is missing.
        title: Title of the report.
        flights: See results.load.
        command: Command line that produced it, shown in the report.

    Raises:
        SlamError: The folder cannot be written.
    """
    folder = Path(folder)
    parts = [_Part("h1", title)]
    if command:
        parts.append(_Part("code", command))
    try:
        for flight in flights:
            parts += _flight(flight, folder)
        parts += _environment(flights)
        markdown = "\n".join(part.markdown() for part in parts)
        (folder / "report.md").write_text(markdown)
        body = "\n".join(part.html(folder) for part in parts)
        (folder / "report.html").write_text(
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head>\n"
            f"<body>\n{body}\n</body></html>\n"
        )
    except OSError as error:
        raise SlamError(f"cannot write the report to '{folder}': {error.strerror}") from error
    return markdown


class _Part:
    """An element of the page: h1, h2, h3, p, code, item, a table or an image."""

    def __init__(self, kind: str, content: "str | tables.Table", path: Path = Path()) -> None:
        self._kind, self._content, self._path = kind, content, path

    def markdown(self) -> str:
        text = self._content
        if isinstance(text, tables.Table):
            return f"{text.caption}\n\n{text.markdown()}"
        if self._kind == "image":
            return f"![{text}]({self._path.as_posix()})\n"
        return {
            "h1": "# {}\n",
            "h2": "## {}\n",
            "h3": "### {}\n",
            "p": "{}\n",
            "item": "- {}",
            "code": "    {}\n",
        }[self._kind].format(text)

    def html(self, folder: Path) -> str:
        if isinstance(self._content, tables.Table):
            return self._content.html()
        text = html.escape(self._content)
        if self._kind == "image":
            data = base64.b64encode((folder / self._path).read_bytes()).decode()
            return (
                f"<figure><figcaption>{text}</figcaption>"
                f'<img alt="{text}" src="data:image/png;base64,{data}"></figure>'
            )
        return {"code": "<pre>{}</pre>", "item": "<ul><li>{}</li></ul>"}.get(
            self._kind, f"<{self._kind}>{{}}</{self._kind}>"
        ).format(text)


def _flight(flight: Flight, folder: Path) -> list[_Part]:
    parts = [_Part("h2", flight.name)]
    if flight.metadata:
        parts.append(
            _Part(
                "p",
                "; ".join(
                    f"{key.replace('_', ' ')}: {value}"
                    for key, value in flight.metadata.items()
                    if value not in ("", None)
                ),
            )
        )
    for table in (tables.accuracy(flight), tables.cost(flight)):
        _write(table, folder)
        parts.append(_Part("table", table))
    for system in flight.systems:
        outcome = system.runs[0].outcome
        description = outcome.get("description") or "no description"
        parts.append(_Part("item", f"{system.label}: {description}; {tables.determinism(system)}"))
        parts += [
            _Part("item", f"{system.label}, run {run.number}: {run.verdict}")
            for run in system.runs
            if run.verdict.reason
        ]
    parts.append(_Part("p", ""))
    parts += [
        _Part("image", caption, path.relative_to(folder))
        for path, caption in plots.draw(flight, folder / "plots")
    ]
    for table in (tables.statistics(flight), tables.runs(flight)):
        _write(table, folder)
        parts.append(_Part("table", table))
    return parts


def _environment(flights: list[Flight]) -> list[_Part]:
    """Lists parameters and packages of the systems, machines and versions."""
    outcomes = [
        run.outcome for flight in flights for system in flight.systems for run in system.runs
    ]
    systems = {}
    for flight in flights:
        for system in flight.systems:
            outcome = system.runs[0].outcome
            systems[system.label] = (
                ", ".join(f"{key} = {value}" for key, value in outcome["parameters"].items()),
                ", ".join(outcome.get("packages", ())),
            )
    machines = {str(outcome.get("machine")): outcome.get("machine") or {} for outcome in outcomes}
    parts = [
        _Part("h2", "Systems, machine and versions"),
        _Part(
            "table",
            tables.Table(
                "systems",
                "Systems",
                ("system", "parameters", "packages"),
                tuple((name, *rest) for name, rest in systems.items()),
            ),
        ),
    ]
    for machine in machines.values():
        versions = machine.get("versions", {})
        lines = [
            f"{machine.get('cpu', 'unknown')}, {machine.get('cores', '?')} cores, "
            f"{machine.get('memory_gib', '?')} GiB, {machine.get('system', '')}",
            ", ".join(f"{name} {version}" for name, version in versions.items()),
        ]
        parts.append(_Part("p", "Machine: " + "; ".join(lines)))
    limits = flights[0].limits.text()
    return parts + [_Part("p", note.format(limits=limits)) for note in _NOTES]


def _write(table: tables.Table, folder: Path) -> None:
    target = folder / "tables"
    target.mkdir(parents=True, exist_ok=True)
    for ending, text in (("md", table.markdown()), ("csv", table.csv()), ("tex", table.latex())):
        (target / f"{table.name}.{ending}").write_text(text)
