"""Episodes become rows: the trained ids are the sampled ids, each exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arena.context import Choice, Context, View
from arena.types import Episode, Turn, role_of
from trainers.credit import Credit, SeatCredit


@dataclass(frozen=True)
class Decision:
    """The legal replies at one turn of a row: `options[a]` follow its first `at` tokens.

    `logprobs` float32 [A] are log p(option) before renormalising, when it was asked. `advantages` float32 [A]: where
    given, every option's logit is pushed by its own (NeuRD); where None, the drawn option `taken` has the one
    `advantage`.
    """

    at: int
    options: tuple[tuple[int, ...], ...]
    taken: int
    drawn: bool
    logprobs: NDArray[np.float32]
    advantage: float = 0.0
    advantages: NDArray[np.float32] | None = None

    @property
    def signal(self) -> bool:
        """Whether it pushes the policy anywhere."""
        return bool(np.any(self.advantages)) if self.advantages is not None else self.drawn and self.advantage != 0


@dataclass(frozen=True)
class Row:
    """One run of tokens of one seat, all arrays [T].

    tokens int32; mask bool, True where sampled and trained; logprobs float32, of the sampled ids under their
    temperature; versions int32; temperatures float32; advantages float32 (0 where not mask).
    """

    episode: str
    seat: str
    role: str
    tokens: NDArray[np.int32]
    mask: NDArray[np.bool_]
    logprobs: NDArray[np.float32]
    versions: NDArray[np.int32]
    temperatures: NDArray[np.float32]
    advantages: NDArray[np.float32]
    decisions: tuple[Decision, ...] = ()

    def __post_init__(self) -> None:
        lengths = {
            name: len(getattr(self, name))
            for name in ("tokens", "mask", "logprobs", "versions", "temperatures", "advantages")
        }
        if len(set(lengths.values())) > 1:
            raise ValueError(f"row of {self.seat} in episode {self.episode}: lengths differ: {lengths}")

    @property
    def signal(self) -> bool:
        """Whether a policy gradient comes out of it."""
        return bool(self.advantages.any()) or any(decision.signal for decision in self.decisions)


def all_rows(
    episodes: Sequence[Episode], credit: Credit, *, version: int, regularised: bool = False
) -> tuple[list[Row], dict[str, float]]:
    """The rows of every credited seat, by episode and seat, and counts of rows and of those dropped for zero signal.

    `version` is the newest that the trainer knows. With `regularised` rows without signal stay: entropy, KL or a magnet
    still moves them.
    """
    found: list[Row] = []
    dropped = 0
    for (i, seat), credit_of_seat in sorted(credit.seats.items()):
        for row in rows(episodes[i], seat, role_of(seat), credit_of_seat, version=version, regularised=regularised):
            if row.signal or regularised:
                found.append(row)
            else:
                dropped += 1
    return found, {"rows": float(len(found)), "zero_signal_rows": float(dropped)}


def rows(
    episode: Episode,
    seat: str,
    role_name: str,
    credit_of_seat: SeatCredit,
    *,
    version: int,
    regularised: bool = False,
) -> list[Row]:
    """One row a view of the seat's context that has anything to train; nothing is cut, joined or encoded again.

    A sampled token is trained with the advantage of its turn. A reply that was drawn among the legal ones is trained as
    a `Decision`, and one that never became a turn (its agent failed after it) is context. Raises ValueError with
    episode, seat and turn where the record contradicts itself, or was sampled by a version unknown (-1) or newer than
    `version`.
    """
    context = episode.contexts[seat]
    turns = [turn for turn in episode.turns if turn.seat == seat]
    name = f"episode {episode.id}, {seat}"
    if len(credit_of_seat.advantages) != len(turns):
        raise ValueError(f"{name}: {len(turns)} turns but {len(credit_of_seat.advantages)} advantages")
    by_view = _by_view(context, turns, name)
    found = []
    for v, view in enumerate(context.views):
        where = f"{name}, view {v}"
        _check_lengths(view, where)
        mask, advantages = _spans(view, [(i, turns[i]) for i in by_view[v]], credit_of_seat, name)
        decisions = []
        for j, choice in enumerate(context.choices):
            if choice.view != v or choice.turn >= len(turns):
                continue
            decision = _decision(choice, j, credit_of_seat, regularised, f"{name}, turn {choice.turn}")
            if decision is not None:
                _check_version(choice.version, version, f"{name}, turn {choice.turn}")
                decisions.append(decision)
        for i in np.flatnonzero(mask):
            _check_version(view.versions[i], version, f"{where}, token {i}")
        if mask.any() or decisions:
            found.append(_row(episode.id, seat, role_name, view, mask, advantages, tuple(decisions)))
    return found


def _by_view(context: Context, turns: Sequence[Turn], name: str) -> list[list[int]]:
    """The turns of each view: all in the one that grows, or else one each."""
    if len(context.views) == 1:
        return [list(range(len(turns)))]
    if context.views and len(turns) > len(context.views):
        raise ValueError(f"{name}: {len(turns)} turns in {len(context.views)} views: a view that isn't alone holds one")
    return [[i] if i < len(turns) else [] for i in range(len(context.views))]


def _spans(
    view: View, turns: Sequence[tuple[int, Turn]], credit_of_seat: SeatCredit, name: str
) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
    """Which tokens are trained, bool [T], and with what advantage, float32 [T]."""
    sampled = np.asarray(view.mask, np.bool_)
    mask, advantages = np.zeros_like(sampled), np.zeros(len(sampled), np.float32)
    end = 0
    for i, turn in turns:
        start, stop = turn.span
        if (start, stop) == (0, 0):
            continue
        if not end <= start <= stop <= len(sampled):
            raise ValueError(
                f"{name}, turn {i}: span ({start}, {stop}) does not follow {end} within {len(sampled)} tokens"
            )
        if sampled[end:start].any() or (sampled[start:stop].any() and not sampled[start:stop].all()):
            raise ValueError(f"{name}, turn {i}: span ({start}, {stop}) is not where the ids were sampled")
        mask[start:stop] = sampled[start:stop]
        advantages[start:stop] = np.where(mask[start:stop], credit_of_seat.advantages[i], 0.0)
        end = stop
    return mask, advantages


def _decision(choice: Choice, index: int, credit_of_seat: SeatCredit, regularised: bool, where: str) -> Decision | None:
    """The choice as the loss needs it, or None if nothing of the loss looks at it."""
    pushed = credit_of_seat.options.get(index)
    if not (choice.drawn or pushed is not None or (regularised and choice.logprobs is not None)):
        return None
    if choice.logprobs is None or len(choice.logprobs) != len(choice.options):
        given = "none" if choice.logprobs is None else str(len(choice.logprobs))
        raise ValueError(
            f"{where}: {len(choice.options)} options but {given} log-probabilities: have the engine score them"
        )
    if choice.drawn and not 0 <= choice.taken < len(choice.options):
        raise ValueError(f"{where}: drawn among {len(choice.options)} options, but the one taken is {choice.taken}")
    if pushed is not None and len(pushed) != len(choice.options):
        raise ValueError(f"{where}: {len(choice.options)} options but {len(pushed)} advantages")
    logprobs = np.asarray(choice.logprobs, np.float32)
    advantage = credit_of_seat.advantages[choice.turn] if choice.drawn and pushed is None else 0.0
    return Decision(choice.at, choice.options, choice.taken, choice.drawn, logprobs, advantage, pushed)


def _row(
    episode: str,
    seat: str,
    role: str,
    view: View,
    mask: NDArray[np.bool_],
    advantages: NDArray[np.float32],
    decisions: tuple[Decision, ...],
) -> Row:
    return Row(
        episode,
        seat,
        role,
        tokens=np.asarray(view.tokens, np.int32),
        mask=mask,
        logprobs=np.where(mask, np.asarray(view.logprobs, np.float32), np.float32(0)),
        versions=np.asarray(view.versions, np.int32),
        temperatures=np.where(mask, np.asarray(view.temperatures, np.float32), np.float32(1)),
        advantages=advantages,
        decisions=decisions,
    )


def _check_lengths(view: View, where: str) -> None:
    lengths = {name: len(column) for name, column in vars(view).items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{where}: lengths differ: {lengths}")


def _check_version(sampled_by: int, newest: int, where: str) -> None:
    if not 0 <= sampled_by <= newest:
        raise ValueError(
            f"{where}: sampled by version {sampled_by}, but the trainer knows 0 to {newest}: "
            "the engine was given weights that aren't this run's"
        )
