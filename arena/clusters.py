"""When two tasks are one: canonical texts, and clusters of texts that share most of their n-grams."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

N = 3  # characters of an n-gram: short enough for sums, long enough for programs

Grams = frozenset[str]


def canonical(text: str) -> str:
    """The text without what makes no other task of it: case, kinds of spaces, compatible forms of characters."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def grams(text: str) -> Grams:
    """All runs of N characters of the canonical text, its ends marked, so that short texts have some too."""
    marked = f"\x02{canonical(text)}\x03"
    return frozenset(marked[i : i + N] for i in range(max(1, len(marked) - N + 1)))


def likeness(one: Grams, two: Grams) -> float:
    """The share of n-grams that both have among those that either has (Jaccard), in [0, 1]."""
    return len(one & two) / len(one | two)


class Clusters:
    """Texts in the order they come; each joins the first leader that it is `similar` to, or leads a new cluster."""

    def __init__(self, similar: float):
        self.similar = similar
        self._leaders: dict[str, Grams] = {}
        self._index: dict[str, dict[str, int]] = {}  # n-gram -> the leaders that have it, each with its number
        self._led = 0

    def find(self, text: str) -> str:
        """The name of the cluster that `text` would join: the key of its leader, "" if it is like none."""
        own = grams(text)
        near: dict[str, int] = {}
        # What is similar lacks few of these n-grams, so it has one of any few more: the rarest name the fewest leaders.
        few = len(own) - int(self.similar * len(own)) + 1
        for gram in sorted(own, key=lambda gram: len(self._index.get(gram, ())))[:few]:
            near |= self._index.get(gram, {})
        for key in sorted(near, key=near.__getitem__):
            leader = self._leaders[key]
            small, large = sorted((len(own), len(leader)))
            if small >= self.similar * large and likeness(own, leader) >= self.similar:
                return key
        return ""

    def join(self, key: str, text: str) -> str:
        """The cluster of `text`; a new one is led by it and named `key`."""
        found = self.find(text)
        if not found:
            self.lead(key, text)
        return found or key

    def lead(self, key: str, text: str) -> None:
        """Note a leader without asking whom it is like: how saved clusters come back."""
        self._leaders[key], self._led = grams(text), self._led + 1
        for gram in self._leaders[key]:
            self._index.setdefault(gram, {})[key] = self._led

    def drop(self, key: str) -> None:
        """Forget a leader: no text joins its cluster any more."""
        for gram in self._leaders.pop(key):
            del self._index[gram][key]
            if not self._index[gram]:
                del self._index[gram]


def shares(texts: Sequence[str], similar: float) -> list[float]:
    """For each text the share of all that is in its cluster, in (0, 1]; a batch of copies gives 1 to each."""
    clusters = Clusters(similar)
    found = [clusters.join(str(i), text) for i, text in enumerate(texts)]
    return [found.count(cluster) / len(texts) for cluster in found]
