"""What seats say to each other: one line that can't pass for the game's own words, and the words that are in it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

from arena.game import IllegalMove

LONGEST = 300  # characters of a question of somebody else's making
BRACKETS = str.maketrans("[]", "()")  # the game's own marks are in square brackets, and nobody else's are
INSIDE = 5  # letters from which a word also counts where it stands inside of another
# What passes for a Latin letter: Cyrillic and Greek letters of its shape, and digits and signs used in its place.
LOOKALIKES = str.maketrans("авекмнорстухіјѕӏαεικνορτυχ013457@$", "abekmhopctyxijslaeikvoptuxoieastas")
PLURALS = {"mouse": "mice", "goose": "geese", "foot": "feet", "tooth": "teeth", "sheep": "sheep"}


def quotable(text: str) -> str:
    """One line that stays inside of double quotes: without control characters, and with single quotes for all others.

    So whatever a seat says, the others can tell it from the words of the game.
    """
    text = " ".join(unicodedata.normalize("NFKC", text).split())
    marks = ("Pi", "Pf")  # categories of quotation marks that open and close
    return "".join(
        "'" if c in '"″〝〞〟' or unicodedata.category(c) in marks else c for c in text if c.isprintable()
    ).strip()


def question(text: str) -> str:
    """A question of somebody else's making in one line that can't pass for more than one; "" if it is too long."""
    asked = quotable(text).translate(BRACKETS) if len(text) < 10 * LONGEST else ""
    return asked if len(asked) <= LONGEST else ""


def spoken(text: str, limit: int) -> str:
    """`text` made quotable; raises `IllegalMove` where nothing is left of it, or more than `limit` characters."""
    message = quotable(text) if len(text) < 10 * limit else text  # floods aren't worth the cleaning
    if not 0 < len(message) <= limit:
        raise IllegalMove(f"say something of at most {limit} characters; that has {len(message)}")
    return message


def folded(text: str) -> str:
    """The text as its letters look: compatible forms, no accents or hidden characters, one case, no lookalikes."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    return "".join(c for c in plain if unicodedata.category(c) not in ("Mn", "Me", "Cf")).translate(LOOKALIKES)


def words(text: str) -> list[str]:
    """The words of a text as they look; whatever is neither letter nor digit parts them."""
    return re.findall(r"[^\W_]+", folded(text))


def forms(word: str) -> tuple[str, ...]:
    """A noun and its plural. Its possessive is two words, for an apostrophe ends one."""
    if word in PLURALS:
        return word, PLURALS[word]
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word, f"{word}es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word, f"{word[:-1]}ies"
    if word.endswith(("f", "fe")):
        return word, f"{word.rstrip('e')[:-1]}ves", f"{word}s"
    return word, f"{word}s"


def says(text: str, word: str, *, inside: bool = False) -> bool:
    """Whether `text` has a form of `word`, as it looks: as a word, or cut up into neighbouring ones, as in "ba na-na".

    With `inside`, forms of INSIDE letters or more also count inside of a longer word, as apple in pineapple.
    """
    parts, wanted = words(text), [folded(form) for form in forms(word)]
    if inside and any(form in part for part in parts for form in wanted if len(form) >= INSIDE):
        return True
    return any(_begins(parts[i:], wanted) for i in range(len(parts)))


def _begins(parts: Collection[str], wanted: Collection[str]) -> bool:
    """Whether the first of `parts`, put together, are one of the `wanted` words."""
    joined, longest = "", max(map(len, wanted))
    for part in parts:
        joined += part
        if joined in wanted:
            return True
        if len(joined) >= longest:
            return False
    return False
