"""The result of one check of `xtdrone doctor`."""

from dataclasses import dataclass

OK, WARNING, FAULT = "ok", "warning", "fault"


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    level: str  # OK, WARNING or FAULT
    subject: str
    text: str
    advice: str = ""

    def __str__(self) -> str:
        line = f"{self.level:8}{self.subject}: {self.text}"
        return line + (f"; {self.advice}" if self.advice else "")
