"""Reads the manual as a tired reader does: sentences whose subject is missing or that never end.

    python scripts/prose.py [PAGE ...]

Names each finding as page:line: what is wrong, and ends with status 1 where there is one. Code,
links' targets and generated tables are skipped. scripts/prose.txt has the phrases that are not
used, a line each: REGULAR EXPRESSION | what to write. `<!-- prose: off -->` before a paragraph
leaves that one out.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PHRASES = ROOT / "scripts" / "prose.txt"
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md", "docs/tutorials/*.md")
MAX_WORDS = 55  # of a sentence
# What a generator writes is not prose of ours.
GENERATED = ("docs/options.md", "docs/parameters.md", "docs/ros_topics.md")
_SENTENCE = re.compile(r"(?<=[.!?:;])\s+(?=[A-Z'`(])")


@dataclass(frozen=True)
class Paragraph:
    """Words that belong together, and where they begin."""

    line: int
    text: str


def paragraphs(page: str) -> Iterator[Paragraph]:
    """Yields paragraphs, items of lists and cells of tables, without code and targets of links."""
    begin, words, code, skip = 0, list[str](), False, False
    for number, line in enumerate([*page.splitlines(), ""], 1):
        if line.lstrip().startswith("```"):
            code = not code
        text = "" if code or line.lstrip().startswith(("```", "#", "<!--", "|", "!")) else line
        starts = not text.strip() or re.match(r"\s*([-*]|\d+\.) ", text)
        if starts and words:
            if not skip:
                yield Paragraph(begin, " ".join(words))
            words, skip = [], False
        if "<!-- prose: off -->" in line:
            skip = True
        if text.strip():
            begin = begin if words else number
            words.append(re.sub(r"^\s*([-*]|\d+\.) ", "", text).strip())


def plain(text: str) -> str:
    """The text of a paragraph as it is read: names of links, code as one word."""
    text = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "CODE", text)
    return re.sub(r"\*\*?", "", text)


def findings(page: str, phrases: list[tuple[re.Pattern[str], str]]) -> Iterator[tuple[int, str]]:
    """Yields the line and the fault of each finding in a page's text."""
    for paragraph in paragraphs(page):
        text = plain(paragraph.text)
        if re.match(r"(It|They|Its|Their) [a-z]", text):
            yield paragraph.line, f"begins with '{text.split()[0]}': name the thing"
        for sentence in _SENTENCE.split(text):
            if re.match(r"What [a-z]", sentence) and not sentence.endswith("?"):
                yield paragraph.line, f"'What' as subject, name the thing: {sentence[:60]}"
            if len(sentence.split()) > MAX_WORDS:
                count = len(sentence.split())
                yield paragraph.line, f"a sentence of {count} words: {sentence[:60]} ..."
        for pattern, instead in phrases:
            if found := pattern.search(text):
                yield paragraph.line, f"'{found[0]}': {instead}"


def read_phrases(text: str) -> list[tuple[re.Pattern[str], str]]:
    """The phrases of scripts/prose.txt."""
    rows = [line.rsplit("|", 1) for line in text.splitlines() if line and line[0] != "#"]
    return [(re.compile(pattern.strip(), re.IGNORECASE), what.strip()) for pattern, what in rows]


def main(arguments: list[str] | None = None) -> int:
    """Prints the findings of the pages; returns the exit status."""
    parser = argparse.ArgumentParser(description="find sentences that are hard to read")
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="(the whole manual)")
    given = parser.parse_args(arguments).pages
    pages = [Path(page).resolve() for page in given] or [
        path for pattern in PAGES for path in sorted(ROOT.glob(pattern))
    ]
    phrases = read_phrases(PHRASES.read_text())
    count = 0
    for path in pages:
        name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else str(path)
        if name in GENERATED:
            continue
        for line, fault in findings(path.read_text(), phrases):
            print(f"{name}:{line}: {fault}")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
