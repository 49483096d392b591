"""The contract of a game as a test of your own: `from arena.testing import check_game`.

Each check raises AssertionError with one sentence that says what the game promised and what it did instead.
"""

from __future__ import annotations

import copy
import io
import json
import math
import pickle
import random
import warnings
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

import numpy as np
from pettingzoo.test import api_test, seed_test

from arena.game import Game
from arena.pov import pov
from arena.transcript import difference, play_on, say, state, transcript
from arena.twins import Speak, so_far, twins
from arena.voice import SLIPS, recorded

Make = Callable[[], Game]

JUNK = (
    "",
    " ",
    "\n",
    "\x00",
    "\x1b[2J",
    "\u202e",
    "²",
    "１",
    "🦓",
    "None",
    "[",
    "]",
    "[]",
    "-1",
    "1e9",
    "ZEBRA" * 20_000,
)
WRONG: tuple[Any, ...] = (None, 3.5, True, -1, 10**9, b"x", [], {}, ("a",), object(), np.float32(1), np.bool_(True))


def check_game(make: Make, games: int = 20, *, speak: Speak | None = None) -> None:
    """Raise AssertionError unless the game keeps every promise that the arena, trainers and PettingZoo rely on.

    `make` builds it: its class, or a function of no arguments. Each check looks at `games` random games. `speak(game,
    seat, rng)` says something legal where `Game.legal` lists nothing.
    """
    said = speak or say
    check_pettingzoo(make)
    check_replay(make, games, said)
    check_reset(make, said)
    check_copies(make, said)
    check_input(make, said)
    check_facts(make, games, said)
    check_views(make, games, said)


def check_pettingzoo(make: Make) -> None:
    """PettingZoo's own tests of an environment and of its seed."""
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")  # about shapes and dtypes, which words don't have
        api_test(make(), num_cycles=50)
        seed_test(make, num_cycles=50)


def check_replay(make: Make, games: int, speak: Speak = say) -> None:
    """Equal seeds give equal games to the last byte; other seeds other games exactly if `info.chance` says so."""
    info, differ = make().info, 0
    for seed in range(games):
        with _global_seed(2 * seed):
            once = transcript(make(), seed, speak)
        with _global_seed(2 * seed + 1):
            again = transcript(make(), seed, speak)
        _claim(once == again, f"two games of seed {seed} with the same moves differ: {difference(once, again)}")
        differ += transcript(make(), seed + games, speak, moves=seed) != once
    if info.chance:
        _claim(differ > 0, f"info.chance is True, but {games} pairs of seeds gave equal games: does it use rng?")
    else:
        _claim(differ == 0, "info.chance is False, but games of different seeds differ")


def check_reset(make: Make, speak: Speak = say) -> None:
    """Nothing of one game is left in the next one of the same object, however far the first went."""
    fresh = transcript(make(), 1, speak)
    game = make()
    seats = list(game.possible_agents)
    for steps in (0, 1, 2, 3, 10**6):
        game.reset(seed=2)
        rng = random.Random(steps)
        while steps and (seat := game.turn()):
            junk = steps == 2 and game.judged == ""
            game.step("ZEBRA" if junk else speak(game, seat, rng))
            steps -= 1
        if game.ending:
            game.step(None)  # leaves while the other seats are still there
        _claim(
            transcript(game, 1, speak) == fresh, "a reused game differs from a fresh one: `start` must set every part"
        )
        while game.agents:
            game.step(None)
        game.reset(seed=3)
        _claim(game.agents == seats, f"after a second reset the seats are {game.agents}, not {seats}")


def check_copies(make: Make, speak: Speak = say) -> None:
    """A position can be pickled and deep-copied; the copy goes on like the original and never touches it."""
    game, rng = make(), random.Random(5)
    game.reset(seed=5)
    while True:
        before = state(game)
        for name, other in (("deepcopy", copy.deepcopy(game)), ("pickle", _pickled(game))):
            _claim(state(other) == before, f"a {name} of a position differs from it")
            stream = copy.deepcopy(rng)
            rest = play_on(other, speak, stream)
            _claim(state(game) == before, f"playing a {name} of a position changed the original")
            twin = copy.deepcopy(game)
            _claim(play_on(twin, speak, copy.deepcopy(rng)) == rest, f"a {name} goes on differently from the original")
        if not (seat := game.turn()):
            return
        game.step(speak(game, seat, rng))


def check_input(make: Make, speak: Speak = say) -> None:
    """Any text and any other object is taken as a move or refused to its seat alone, and never raises."""
    for game, _ in _positions(make, 6, speak):
        seat = game.agent_selection
        for text in JUNK:
            _try(game, seat, text)
        for thing in WRONG:
            judged = _try(game, seat, thing)
            _claim(bool(judged), f"{thing!r} of {type(thing).__name__} was taken as a move of {seat}")
        _insist(game, seat, speak)
        if legal := game.legal(seat):
            by_index, by_text = copy.deepcopy(game), copy.deepcopy(game)
            by_index.step(len(legal) - 1)
            by_text.step(legal[-1])
            _claim(state(by_index) == state(by_text), f"index {len(legal) - 1} isn't the move {legal[-1]!r} of {seat}")


def check_facts(make: Make, games: int, speak: Speak = say) -> None:
    """What `info` says is so, in whole games and in games that end by a forfeit at each of their phases."""
    info, several = make().info, False
    _claim(not (info.zero_sum and info.cooperative), "a game can't be both zero_sum and cooperative")
    _claim(
        not (info.perfect_information and info.simultaneous),
        "moves of a simultaneous stage are hidden, so it isn't perfect information",
    )
    for game, returns in _positions(make, games, speak):
        several |= len(game.acting) > 1
        _check_moves(game)
        forfeited = copy.deepcopy(game)
        forfeited.rewards = dict.fromkeys(game.agents, 0.0)
        forfeited.forfeit(game.agent_selection, "it was told to")
        _claim(forfeited.ending == "forfeit" and not forfeited.acting, "a forfeit doesn't end the game")
        final = {seat: returns[seat] + forfeited.rewards.get(seat, 0.0) for seat in returns}
        _check_sums(game, final, "a game that ends by a forfeit")
    for seed in range(games):
        game = make()
        returns = _returns(game, seed, _keenly(speak))
        _check_sums(game, returns, f"the game of seed {seed}")
        _claim(game.ending in ("over", "truncated", "forfeit"), f"a game ended as {game.ending!r}")
        _claim(game.stage <= info.max_stages, f"a game took {game.stage} stages, max_stages is {info.max_stages}")
        seats = sorted(seat for team in game.teams() for seat in team)
        _claim(seats == sorted(game.possible_agents), f"teams() has {seats}, the seats are {game.possible_agents}")
    said = "" if several else "n't"
    _claim(
        several == info.simultaneous,
        f"info.simultaneous is {info.simultaneous}, but several seats did{said} move at once in {games} games",
    )


def check_views(make: Make, games: int, speak: Speak = say) -> None:
    """No seat sees what it mustn't know, and with perfect information every seat sees all.

    Each random game is played again with one draw of chance or one move changed. Wherever a seat has known the same
    (`Game.knows`) and moved the same, it must have heard the same and have the same moves, and so must its record of
    the game (`arena.pov`). What a seat thinks, and what illegal it says, must reach no other seat at all. Warns where a
    game of hidden information doesn't declare what a seat knows.
    """
    info = make().info
    seen: dict[Hashable, Any] = {}
    states: dict[Hashable, str] = {}
    declared = True
    for seed in range(games):
        for game, told, turns in twins(make(), seed, speak):
            seat = game.agent_selection
            knew, heard, moved = told[seat]
            declared = declared and knew[-1] is not None
            record = pov(so_far(game, seed, turns), seat)
            view = (heard, tuple(game.legal(seat)), tuple(sorted(game.oracle(seat).items())), json.dumps(record))
            _claim(_hashes(knew), f"knows({seat!r}) can't be hashed: {knew[-1]!r}")
            if declared:
                known = seen.setdefault((seat, knew, moved), view)
                _claim(
                    known == view,
                    f"{seat} knows {knew[-1]!r}, but what it sees also depends on something else: "
                    f"{difference(known, view)}; hide that, or add it to knows()",
                )
            if info.perfect_information:
                text = game.state_text()
                _claim(bool(text), "info.perfect_information can't be checked: state_text() is empty")
                known = states.setdefault((seat, heard, moved), text)
                _claim(known == text, f"{seat} hears the same in two positions: {difference(known, text)}")
    for seed, (game, _) in enumerate(_positions(make, games, speak)):
        _check_hidden_moves(game, seed)
    for seed in range(games):
        _check_records(make, seed, speak)
    if not declared and len(make().possible_agents) > 1:
        warnings.warn(f"{make()} doesn't say what a seat may know: define knows(seat) to have it checked", stacklevel=3)


def _positions(make: Make, games: int, speak: Speak) -> Iterator[tuple[Game, dict[str, float]]]:
    """Every position of some random games in which a seat is asked, with the returns so far; copy before you step."""
    for seed in range(games):
        game, rng = make(), random.Random(seed)
        game.reset(seed=seed)
        returns = dict.fromkeys(game.possible_agents, 0.0)
        _claim(not any(game.rewards.values()), "rewards were given by `start`, before anybody moved: they'd be lost")
        while seat := game.turn():
            yield game, returns
            game.step(speak(game, seat, rng))
            for seat, reward in game.rewards.items():
                _claim(math.isfinite(reward), f"{seat} was given a reward of {reward}")
                returns[seat] += reward


def _returns(game: Game, seed: int, speak: Speak) -> dict[str, float]:
    """The sum of rewards by seat over a whole random game."""
    game.reset(seed=seed)
    rng, returns = random.Random(seed), dict.fromkeys(game.possible_agents, 0.0)
    while asked := game.turn():
        game.step(speak(game, asked, rng))
        for seat, reward in game.rewards.items():
            returns[seat] += reward
    return returns


def _try(game: Game, seat: str, action: Any) -> str:
    """Step a copy with `action`; the reason why it was refused, "" if it was taken."""
    after, shown = copy.deepcopy(game), f"{action!r:.40}"
    try:
        after.step(action)
    except Exception as error:
        raise AssertionError(f"{seat} said {shown} and the game raised {type(error).__name__}: {error}") from error
    if not after.judged:
        return ""
    _claim(len(after.judged) < 2000, f"{seat} said {shown} and the refusal has {len(after.judged)} characters")
    _claim(after.stage == game.stage, f"{seat} said {shown}, which is illegal, and the stage went on")
    _claim(after.state_text() == game.state_text(), f"{seat} said {shown}, which is illegal, and the position changed")
    for other in game.possible_agents:
        if other != seat:
            _claim(after.observe(other) == game.observe(other), f"{other} hears of an illegal move of {seat}")
    if not after.ending:
        _claim(seat in after.acting, f"{seat} said {shown}, which is illegal, and isn't asked again")
        text = after.observe(seat)["text"]
        _claim(after.judged in text and game.observe(seat)["text"] in text, f"{seat} isn't told why {shown} is illegal")
    return after.judged


def _insist(game: Game, seat: str, speak: Speak) -> None:
    """A seat that says nothing legal forfeits after exactly `info.max_illegal` second chances."""
    after, rng, tries = copy.deepcopy(game), random.Random(0), 0
    left = game.info.max_illegal + 1 - game._illegal[seat]
    while asked := after.turn():
        mine = asked == seat
        after.step(None if mine else speak(after, asked, rng))
        tries += mine
    _claim(after.ending == "forfeit", f"{seat} said nothing legal and the game ended as {after.ending!r}")
    _claim(tries == left, f"{seat} was asked {tries} times and not {left}: max_illegal is {game.info.max_illegal}")


def _check_moves(game: Game) -> None:
    """Legal moves are different texts that the game takes, and its oracle speaks of these only."""
    for seat in game.acting:
        legal = tuple(game.legal(seat))
        _claim(all(isinstance(move, str) and move for move in legal), f"a legal move of {seat} isn't text: {legal}")
        _claim(len(set(legal)) == len(legal), f"a legal move of {seat} is listed twice: {legal}")
        _claim(tuple(game.legal(seat)) == legal, f"legal moves of {seat} change from call to call")
        odds = game.oracle(seat)
        if odds:
            _claim(set(odds) <= set(legal), f"the oracle of {seat} wants {set(odds) - set(legal)}, which is illegal")
            _claim(
                math.isclose(sum(odds.values()), 1, abs_tol=1e-9) and min(odds.values()) >= 0,
                f"the oracle's probabilities for {seat} are {dict(odds)}",
            )
    seat = game.agent_selection
    legal = tuple(game.legal(seat))
    for move in legal[:: max(1, len(legal) // 20)]:
        after = copy.deepcopy(game)
        after.step(move)
        _claim(not after.judged, f"{move!r} is listed as legal for {seat}, but it was refused: {after.judged}")


def _check_sums(game: Game, returns: dict[str, float], of: str) -> None:
    total = math.fsum(returns.values())
    if game.info.zero_sum:
        _claim(abs(total) < 1e-9, f"info.zero_sum is True, but the returns of {of} sum to {total}: {returns}")
    if game.info.cooperative:
        _claim(len(set(returns.values())) == 1, f"info.cooperative is True, but the returns of {of} differ: {returns}")
    if not game.info.draws:
        means = [round(math.fsum(returns[seat] for seat in team) / len(team), 9) for team in game.teams()]
        _claim(len(set(means)) == len(means), f"info.draws is False, but teams are equal in {of}: {returns}")


def _check_hidden_moves(game: Game, seed: int) -> None:
    """Before a stage of several seats is complete, none of them sees what the others said, or that it was illegal."""
    *others, last = game.acting
    if not others or game.agent_selection != others[0]:
        return
    rng, views = random.Random(seed), set()
    for style in ("first", "random", "illegal", "illegal and long"):
        after = copy.deepcopy(game)
        for seat in others:
            legal = tuple(after.legal(seat)) or ("yes", "a much longer answer")
            move = {"first": legal[0], "random": rng.choice(legal)}.get(style, "\x00" * len(style))
            if not after.ending:
                after.step(move)
        if not after.ending:
            views.add((after.agent_selection, after.observe(last)["text"], tuple(after.legal(last))))
    _claim(len(views) <= 1, f"{last} sees something of a stage that isn't complete: {sorted(views)}")


def _hashes(thing: Any) -> bool:
    try:
        hash(thing)
    except TypeError:
        return False
    return True


def _check_records(make: Make, seed: int, speak: Speak) -> None:
    """Thoughts and illegal moves of one seat change nothing in what the others hear, nor in their record."""
    seats = make().possible_agents
    one, others = seats[seed % len(seats)], [seat for seat in seats if seat != seats[seed % len(seats)]]
    records = {style: recorded(make(), seed, speak, one, style) for style in ("", "thinks", *SLIPS)}
    for style, episode in records.items():
        _claim(episode.ending != "infra", f"a game broke off: {episode.reason}")
        for seat in others:
            plain, other = json.dumps(pov(records[""], seat)), json.dumps(pov(episode, seat))
            _claim(plain == other, f"{seat} sees that {one} {style}: {difference(plain, other)}")


@contextmanager
def _global_seed(seed: int) -> Iterator[None]:
    """Other global random numbers for a while: a game that uses them shows itself."""
    own, numpy_own = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed)
    try:
        yield
    finally:
        random.setstate(own)
        np.random.set_state(numpy_own)


def _pickled(game: Game) -> Game:
    try:
        copied: Game = pickle.loads(pickle.dumps(game))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise AssertionError(f"a position can't be pickled: {error}; keep plain values in it") from error
    return copied


def _keenly(speak: Speak) -> Speak:
    """Half of the moves by the game's oracle: random play alone may never earn anything."""

    def say(game: Game, seat: str, rng: random.Random) -> str:
        odds = game.oracle(seat) if rng.random() < 0.5 else {}
        return rng.choices(list(odds), list(odds.values()))[0] if odds else speak(game, seat, rng)

    return say


def _claim(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)
