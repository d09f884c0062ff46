"""A page of docs/validation/: a table of errors against bounds, then sections with pictures."""

from pathlib import Path

from matplotlib import pyplot as plt

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "validation"


class Report:
    """Rows of the table and sections of the page."""

    def __init__(self, name: str, head: str):
        """An empty page.

        Args:
            name: Of the page and of the folder of its pictures.
            head: Text below the title.
        """
        self.name, self.head = name, head
        self.rows, self.sections, self.broken = [], [], []

    def check(self, what: str, error: float, bound: float, unit: str = "") -> None:
        """A row: the error must not exceed the bound; NaN does."""
        good = abs(error) <= bound
        self.rows.append(f"| {what} | {error:.3g} {unit} | {bound:.3g} {unit} | "
                         f"{'yes' if good else '**no**'} |")
        print(f"{'ok  ' if good else 'FAIL'} {what}: {error:.3g} {unit} (bound {bound:.3g})",
              flush=True)
        if not good:
            self.broken.append(what)

    def section(self, title: str, text: str, figure=None) -> None:
        """A section with a picture; its file is named after the title."""
        lines = [f"## {title}", "", text, ""]
        if figure is not None:
            name = title.lower().replace(" ", "_").replace(",", "") + ".png"
            (FOLDER / self.name).mkdir(parents=True, exist_ok=True)
            figure.tight_layout()
            figure.savefig(FOLDER / self.name / name, dpi=110)
            plt.close(figure)
            lines += [f"![{title}]({self.name}/{name})", ""]
        self.sections += lines

    def write(self) -> int:
        """Writes the page; returns 1 where a bound is broken, else 0."""
        lines = [f"# {self.name.capitalize()}", "", self.head, "",
                 "| check | error | bound | holds |", "|---|---|---|---|", *self.rows, ""]
        page = FOLDER / f"{self.name}.md"
        page.write_text("\n".join(lines + self.sections).rstrip() + "\n")
        print(f"{page}: {len(self.rows)} checks, {len(self.broken)} broken")
        return 1 if self.broken else 0
