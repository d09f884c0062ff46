"""A page of docs/validation/: tables of checks, text and figures."""

from pathlib import Path

from xtdrone_core import plot_style

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "validation"


class Page:
    """A page with text, tables and figures, and the results of its checks."""

    def __init__(self, name: str):
        """Starts an empty page.

        Args:
            name: Name of the page and of the folder of its figures.
        """
        self.name = name
        self.lines, self.checks, self.broken = [], 0, []

    def add(self, *lines: str) -> None:
        """Adds text unchanged, followed by an empty line."""
        self.lines += [*lines, ""]

    def table(self, *titles: str) -> None:
        """Starts a table; rows follow."""
        self.lines += ["| " + " | ".join(titles) + " |", "|---" * len(titles) + "|"]

    def row(self, *cells) -> None:
        """Adds one row to the table."""
        self.lines.append("| " + " | ".join(map(str, cells)) + " |")

    def holds(self, what: str, good: bool) -> str:
        """Counts and prints a check; returns its table cell, yes or **no**."""
        self.checks += 1
        print(f"{'ok  ' if good else 'FAIL'} {what}", flush=True)
        if not good:
            self.broken.append(what)
        return "yes" if good else "**no**"

    def picture(self, text: str, figure, name: str = "") -> None:
        """Adds a figure, saved beside the page under `name`, or under a name made from its text."""
        name = name or text.lower().replace(" ", "_").replace(",", "")
        (FOLDER / self.name).mkdir(parents=True, exist_ok=True)
        plot_style.title_panels(figure)
        plot_style.save(figure, FOLDER / self.name / f"{name}.png")
        self.add(f"![{text}]({self.name}/{name}.png)")

    def write(self) -> int:
        """Writes the page; returns 1 if a check failed, else 0."""
        page = FOLDER / f"{self.name}.md"
        page.write_text("\n".join(self.lines).rstrip() + "\n")
        print(f"{page}: {self.checks} checks, {len(self.broken)} broken")
        return 1 if self.broken else 0


class Report(Page):
    """A page that starts with one table of errors against bounds; sections follow."""

    def __init__(self, name: str, head: str):
        """Starts a page with an empty table.

        Args:
            name: As for Page.
            head: Text below the title.
        """
        super().__init__(name)
        self.head, self.rows = head, []

    def check(self, what: str, error: float, bound: float, unit: str = "") -> None:
        """Adds a row; fails if the error exceeds the bound or is NaN."""
        word = self.holds(f"{what}: {error:.3g} {unit} (bound {bound:.3g})", abs(error) <= bound)
        self.rows.append((what, f"{error:.3g} {unit}", f"{bound:.3g} {unit}", word))

    def section(self, title: str, text: str, figure=None) -> None:
        """Adds a section with a figure that is named after the title."""
        self.add(f"## {title}", "", text)
        if figure is not None:
            self.picture(title, figure)

    def write(self) -> int:
        """Writes the page; returns 1 if a bound was exceeded, else 0."""
        sections, self.lines = self.lines, []
        self.add(f"# {self.name.capitalize()}", "", self.head)
        self.table("check", "error", "bound", "holds")
        for row in self.rows:
            self.row(*row)
        self.lines += ["", *sections]
        return super().write()
