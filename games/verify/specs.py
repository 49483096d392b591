"""What coders are asked for: small functions, each the reference for its own description, with inputs of every sort.

None has a loop that a mutation could keep from ending: whoever hangs costs everybody time.
"""

from __future__ import annotations

import ast
import inspect
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_type_hints

from games.verify import program, values

LETTERS = "abcde "


def digits(n: int) -> int:
    """the sum of the decimal digits of a whole number n >= 0; of 204 it is 6"""
    total = 0
    for digit in str(n):
        total += int(digit)
    return total


def clamp(x: int, low: int, high: int) -> int:
    """x, but low where x is below it, and high where x is above it, low <= high; f(7, 1, 5) is 5"""
    if x < low:
        return low
    if x > high:
        return high
    return x


def gaps(a: list[int]) -> list[int]:
    """the list of the differences of neighbours in a list, later minus earlier; of [1, 4, 2] it is [3, -2]"""
    return [a[i + 1] - a[i] for i in range(len(a) - 1)]


def runs(a: list[int]) -> int:
    """how many runs of equal neighbours a list has; [1, 1, 2, 1] has 3, [] has 0"""
    count = 0
    for i in range(len(a)):
        if i == 0 or a[i] != a[i - 1]:
            count += 1
    return count


def mirror(s: str) -> bool:
    """whether a text reads the same from both ends, spaces left out; of 'ab a' it is True"""
    letters = [c for c in s if c != " "]
    return all(letters[i] == letters[len(letters) - 1 - i] for i in range(len(letters) // 2))


def second(a: list[int]) -> int | None:
    """the second largest of the different numbers in a list, None if there is none; of [3, 5, 5] it is 3"""
    b = sorted(set(a))
    if len(b) < 2:
        return None
    return b[len(b) - 2]


def longest(s: str) -> str:
    """the longest word of a text, of equally long ones the first; words stand between spaces, '' if there is none"""
    best = ""
    for word in s.split():
        if len(word) > len(best):
            best = word
    return best


def evens(a: list[int]) -> list[int]:
    """the even numbers of a list, then the odd ones, each in their order; of [1, 2, 3, 4] it is [2, 4, 1, 3]"""
    return [x for x in a if x % 2 == 0] + [x for x in a if x % 2 == 1]


def peaks(a: list[int]) -> int:
    """how many numbers in a list are larger than both neighbours, the first and last left out; [1, 3, 2] has 1"""
    count = 0
    for i in range(1, len(a) - 1):
        if a[i] > a[i - 1] and a[i] > a[i + 1]:
            count += 1
    return count


def prefix(s: str, t: str) -> str:
    """the longest text with which both of two texts begin; f('abc', 'abd') is 'ab'"""
    for i in range(min(len(s), len(t))):
        if s[i] != t[i]:
            return s[:i]
    return s[: min(len(s), len(t))]


def pairs(a: list[int]) -> int:
    """how many pairs of places i < j in a list hold numbers whose sum is 0; [1, -1, -1] has 2"""
    count = 0
    for i in range(len(a)):
        for j in range(i + 1, len(a)):
            if a[i] + a[j] == 0:
                count += 1
    return count


def rotate(a: list[int], k: int) -> list[int]:
    """a list with its last k elements moved to the front, k >= 0 may be larger than it; f([1, 2, 3], 1) is [3, 1, 2]"""
    if len(a) == 0:
        return []
    k = k % len(a)
    return a[len(a) - k :] + a[: len(a) - k]


# -- what goes into them -----------------------------------------------------------------------------------------------


def _number(rng: random.Random) -> int:
    return rng.choice((0, 1, 2, rng.randint(0, 30), rng.randint(0, 200)))


def _signed(rng: random.Random) -> int:
    return rng.choice((0, rng.randint(-9, 9), rng.randint(-60, 60)))


def _numbers(rng: random.Random) -> list[int]:
    return [rng.randint(-4, 4) for _ in range(rng.choice((0, 1, 2, 3, 5, 8)))]


def _word(rng: random.Random) -> str:
    return "".join(rng.choice(LETTERS) for _ in range(rng.choice((0, 1, 2, 4, 7))))


def _mirrored(rng: random.Random) -> str:
    word = _word(rng)
    return rng.choice((word, word + word[::-1], word + word[-2::-1]))


def _alike(rng: random.Random) -> tuple[str, str]:
    both = _word(rng)
    return both + _word(rng), both + _word(rng)


@dataclass(frozen=True)
class Spec:
    """A description of f, a function that is right, and what draws arguments for it, edges among them.

    `where` is what the description asks of arguments besides their types.
    """

    answer: Callable[..., Any]
    inputs: Callable[[random.Random], program.Args]
    where: Callable[..., bool] = lambda *args: True

    @property
    def text(self) -> str:
        """What f returns, in words, with an example."""
        return str(self.answer.__doc__)

    @cached_property
    def source(self) -> str:
        """The reference as a coder would write it."""
        (function,) = ast.parse(inspect.getsource(self.answer)).body
        assert isinstance(function, ast.FunctionDef)
        function.name, function.returns = program.ENTRY, None
        for arg in function.args.args:
            arg.annotation = None
        return program.read(ast.unparse(function)).source

    def fits(self, args: program.Args) -> bool:
        """Whether the description speaks of these arguments: of others right programs may make what they like."""
        kinds = [kind for name, kind in get_type_hints(self.answer).items() if name != "return"]
        return len(args) == len(kinds) and all(map(_is, args, kinds)) and self.where(*args)

    def cases(self, count: int, rng: random.Random) -> list[tuple[program.Args, str]]:
        """`count` different arguments, each with the text of what f returns; fewer where there aren't so many."""
        found: dict[str, tuple[program.Args, str]] = {}
        for _ in range(50 * count):
            args = self.inputs(rng)
            found.setdefault(program.call(args), (args, values.shown(self.answer(*args))))
            if len(found) == count:
                break
        return list(found.values())


def _is(value: object, kind: object) -> bool:
    """Whether a value is just of this type; a text is printable ASCII, for of other spaces no description speaks."""
    if kind == list[int]:
        return type(value) is list and all(type(one) is int for one in value)
    return type(value) is kind and (not isinstance(value, str) or (value.isascii() and value.isprintable()))


SPECS: Mapping[str, Spec] = {
    "digits": Spec(digits, lambda rng: (_number(rng),), lambda n: n >= 0),
    "clamp": Spec(
        clamp, lambda rng: (_signed(rng), rng.randint(-9, 0), rng.randint(0, 9)), lambda x, low, high: low <= high
    ),
    "gaps": Spec(gaps, lambda rng: (_numbers(rng),)),
    "runs": Spec(runs, lambda rng: (_numbers(rng),)),
    "mirror": Spec(mirror, lambda rng: (_mirrored(rng),)),
    "second": Spec(second, lambda rng: (_numbers(rng),)),
    "longest": Spec(longest, lambda rng: (" ".join(_word(rng) for _ in range(rng.randint(0, 3))),)),
    "evens": Spec(evens, lambda rng: (_numbers(rng),)),
    "peaks": Spec(peaks, lambda rng: (_numbers(rng),)),
    "prefix": Spec(prefix, _alike),
    "pairs": Spec(pairs, lambda rng: (_numbers(rng),)),
    "rotate": Spec(rotate, lambda rng: (_numbers(rng), rng.choice((0, 1, 2, rng.randint(0, 12)))), lambda a, k: k >= 0),
}
