"""Numbers in the text of SDF's elements, as sdformat 9 reads them."""

import re

_NUMBER = re.compile(
    r"[-+]?(?:0x[0-9a-f]+|(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|inf(?:inity)?|nan)", re.IGNORECASE
)


def leading_numbers(text: str, count: int) -> tuple[tuple[float, ...], str]:
    """The first numbers of a text.

    sdformat reads a scalar by C's strtod, which stops where the number ends ("0.1 m" is 0.1), and
    each number of a vector as a word; what follows them is left over.

    Args:
        text: The text of an element.
        count: How many numbers the element has.

    Returns:
        The numbers, or () where there are not so many, and what is left over.
    """
    words = text.split(None, count)
    found = [_NUMBER.match(word) for word in words[:count]]
    rest = " ".join(words[count:])
    if len(found) != count or not all(found):
        return (), ""
    ends = [word[match.end() :] for word, match in zip(words, found, strict=False) if match]
    if any(ends) and count > 1:
        return (), ""
    return tuple(_value(match[0]) for match in found if match), f"{ends[0]} {rest}".strip()


def _value(word: str) -> float:
    return float.fromhex(word) if "x" in word.lower() else float(word)
