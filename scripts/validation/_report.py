"""A page of docs/validation/: tables of checks, text and pictures."""

from pathlib import Path

from matplotlib import pyplot as plt

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "validation"


class Page:
    """Text, tables and pictures, and what the checks found."""

    def __init__(self, name: str):
        """An empty page.

        Args:
            name: Of the page and of the folder of its pictures.
        """
        self.name = name
        self.lines, self.checks, self.broken = [], 0, []

    def add(self, *lines: str) -> None:
        """Text as it is, with an empty line after it."""
        self.lines += [*lines, ""]

    def table(self, *titles: str) -> None:
        """The head of a table; rows follow."""
        self.lines += ["| " + " | ".join(titles) + " |", "|---" * len(titles) + "|"]

    def row(self, *cells) -> None:
        """One row of the table."""
        self.lines.append("| " + " | ".join(map(str, cells)) + " |")

    def holds(self, what: str, good: bool) -> str:
        """Counts a check and prints it; gives its word for a table."""
        self.checks += 1
        print(f"{'ok  ' if good else 'FAIL'} {what}", flush=True)
        if not good:
            self.broken.append(what)
        return "yes" if good else "**no**"

    def picture(self, text: str, figure, name: str = "") -> None:
        """A figure, saved beside the page under a name, or else under its text."""
        name = name or text.lower().replace(" ", "_").replace(",", "")
        (FOLDER / self.name).mkdir(parents=True, exist_ok=True)
        figure.tight_layout()
        figure.savefig(FOLDER / self.name / f"{name}.png", dpi=110)
        plt.close(figure)
        self.add(f"![{text}]({self.name}/{name}.png)")

    def write(self) -> int:
        """Writes the page; returns 1 where a check is broken, else 0."""
        page = FOLDER / f"{self.name}.md"
        page.write_text("\n".join(self.lines).rstrip() + "\n")
        print(f"{page}: {self.checks} checks, {len(self.broken)} broken")
        return 1 if self.broken else 0


class Report(Page):
    """A page that begins with one table of errors against bounds; sections follow."""

    def __init__(self, name: str, head: str):
        """An empty page.

        Args:
            name: As for Page.
            head: Text below the title.
        """
        super().__init__(name)
        self.head, self.rows = head, []

    def check(self, what: str, error: float, bound: float, unit: str = "") -> None:
        """A row: the error must not exceed the bound; NaN does."""
        word = self.holds(f"{what}: {error:.3g} {unit} (bound {bound:.3g})", abs(error) <= bound)
        self.rows.append((what, f"{error:.3g} {unit}", f"{bound:.3g} {unit}", word))

    def section(self, title: str, text: str, figure=None) -> None:
        """A section with a picture, which is named after the title."""
        self.add(f"## {title}", "", text)
        if figure is not None:
            self.picture(title, figure)

    def write(self) -> int:
        """Writes the page; returns 1 where a bound is broken, else 0."""
        sections, self.lines = self.lines, []
        self.add(f"# {self.name.capitalize()}", "", self.head)
        self.table("check", "error", "bound", "holds")
        for row in self.rows:
            self.row(*row)
        self.lines += ["", *sections]
        return super().write()
