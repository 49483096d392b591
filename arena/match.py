"""What an episode was as a match: who scored what, for ratings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from arena.game import Game
from arena.ratings import TASK
from arena.types import ENDINGS, Episode, Match, role_of


def match_of(episode: Episode, game: Game, *, id: str = "", pool: str = "main") -> Match:
    """The match that an episode was, for ratings: teams score the mean return of their seats.

    A cooperative team plays the task, which scores the game's par. An episode that could not be scored has no scores.
    """
    teams = [tuple(episode.agents[seat] for seat in team) for team in game.teams()]
    roles = [tuple(role_of(seat) for seat in team) for team in game.teams()]
    returns = [[episode.returns[seat] for seat in team] for team in game.teams()]
    scores = [sum(r for r in team if r is not None) / len(team) for team in returns if None not in team]
    if game.info.cooperative:
        if game.info.par is None:
            raise ValueError(
                f"{game} has no par: a cooperative team is rated against the return that good play reaches"
            )
        teams.append((f"{TASK}{episode.task.id if episode.task else game}",))
        roles.append(("",))
        scores.append(game.info.par)
    whole = len(scores) == len(teams)
    return Match(
        id=id or episode.id,
        game=episode.game,
        teams=tuple(teams),
        scores=tuple(scores) if whole else (),
        roles=tuple(roles),
        ending=episode.ending if whole else "infra",
        pool=pool,
        episodes=(episode.id,),
        fault=episode.agents[episode.fault] if episode.fault else "",
        reason=episode.reason,
    )


def together(games: Sequence[Match], id: str) -> Match:
    """Games of the same teams as one match: a team scores its mean, and the match ends as the worst of them did."""
    if len(games) == 1:
        return replace(games[0], id=id)
    worst = max(games, key=lambda game: ENDINGS.index(game.ending))
    sums: dict[tuple[str, ...], float] = {}
    for game in games:
        for team, score in zip(game.teams, game.scores or (0.0,) * len(game.teams), strict=True):
            key = tuple(sorted(team))
            sums[key] = sums.get(key, 0.0) + score
    return Match(
        id=id,
        game=games[0].game,
        teams=tuple(sums),
        scores=() if worst.ending == "infra" else tuple(total / len(games) for total in sums.values()),
        ending=worst.ending,
        pool=games[0].pool,
        episodes=tuple(episode for game in games for episode in game.episodes),
        fault=worst.fault,
        reason=worst.reason,
    )
