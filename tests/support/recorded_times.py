"""The table tests/TIMES.md of scripts/times_of_tests.py, by which long files begin first."""

from pathlib import Path

TABLE = Path(__file__).resolve().parents[1] / "TIMES.md"


def file_times(with_long: bool, table: Path = TABLE) -> dict[str, float]:
    """Reads the processor time of the files that take longest.

    Args:
        with_long: With that of the tests marked as long.
        table: As scripts/times_of_tests.py writes it.

    Returns:
        Path below the root -> seconds; nothing where there is no table.
    """
    found = {}
    for line in table.read_text().splitlines() if table.exists() else ():
        name, *cells = line.strip("|").split("|")
        if name.endswith(".py") and len(cells) == 5:
            _, unmarked, slow, long, shared = map(float, cells)
            found[f"tests/{name}"] = unmarked + slow + shared + long * with_long
    return found
