"""A match as rows of the store's tables: all that they say of it, made from its record and its episodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from arena.ratings import contest, places
from arena.types import RATED, Episode, Match

Row = tuple[Any, ...]


class Rows(NamedTuple):
    """The rows of one match without its number; `counts` are its replies, the illegal ones, and the sampled tokens.

    `seats` are (team, member, agent, role, score), with `score` None where there is none. `turns` are (episode, number,
    stage, seat, legal, reward, tokens): `seat` counts in the order of the episode's agents, `reward` is the speaker's
    own. `payoff` are (pool, game, agent, other, won, drawn, lost).
    """

    counts: tuple[int, int, int]
    seats: list[Row]
    turns: list[Row]
    faced: list[str]
    payoff: list[Row]

    @classmethod
    def of(cls, match: Match, episodes: Sequence[Episode]) -> Rows:
        turns = list(_turns(episodes))
        counts = len(turns), sum(not legal for *_, legal, _, _ in turns), sum(tokens for *_, tokens in turns)
        faced = sorted({task for episode in episodes for task in episode.faced.values()})
        return cls(counts, list(_seats(match)), turns, faced, list(_payoff(match)))


def _seats(match: Match) -> Iterator[Row]:
    roles = match.roles or tuple(("",) * len(team) for team in match.teams)
    scores = match.scores or (None,) * len(match.teams)
    for t, (team, told, score) in enumerate(zip(match.teams, roles, scores, strict=True)):
        kept = None if score is None or score != score else float(score)  # SQLite has no NaN
        yield from ((t, i, agent, told[i], kept) for i, agent in enumerate(team))


def _turns(episodes: Sequence[Episode]) -> Iterator[Row]:
    for e, episode in enumerate(episodes):
        place = {seat: i for i, seat in enumerate(episode.agents)}
        for t, turn in enumerate(episode.turns):
            reward, tokens = turn.rewards.get(turn.seat, 0.0), turn.span[1] - turn.span[0]
            yield e, t, turn.stage, place[turn.seat], int(turn.legal), float(reward), tokens


def _payoff(match: Match) -> Iterator[Row]:
    """Every two agents of different teams, both ways round, where the match says anything about skill."""
    if match.ending not in RATED or not contest(match.teams):
        return
    ranked = list(zip(places(match), match.teams, strict=True))
    for (best, ours), (other, theirs) in combinations(ranked, 2):
        result = (int(best < other), int(best == other), int(best > other))
        for a in sorted(set(ours)):
            for b in sorted(set(theirs)):
                yield (match.pool, match.game, a, b, *result)
                yield (match.pool, match.game, b, a, *result[::-1])
