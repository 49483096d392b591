"""Monte Carlo tree search over any game that lists its legal moves: UCT from copies of the position.

Each seat has a tree of its own, over what it hears and says, and takes the move that serves it best; so the same search
holds for any number of seats, general sums, teams, chance, and stages in which several move at once (decoupled UCT).
Where a game hides something the search never looks at the position: it deals anew until the seat would have heard the
same, and searches in those worlds (multiple-observer ISMCTS: Cowling, Powley, Whitehouse 2012).
"""

from __future__ import annotations

import asyncio
import copy
import math
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from arena.agent import WHOLE, drawn
from arena.context import Context
from arena.game import Game
from arena.seeding import derive
from arena.suited import Unsuited, needs_listed_moves
from roles import Role

EXPLORE = 1.0  # weight of a move's uncertainty, in units of the returns seen so far: UCB1 of Auer et al. 2002 has 1.4
WORK = 20_000  # deals and moves tried in one search to find worlds that fit; those found are then used in turn
STRETCH = 0.01  # seconds that a search goes on before it lets others have their turn
Past = Sequence[tuple[str, str]]  # what a seat has heard and then moved, turn by turn


@dataclass(frozen=True)
class SearchAgent:
    """Monte Carlo tree search with so many `simulations` a move; with hidden information it draws by their counts."""

    simulations: int = 400
    name: str = "mcts"
    role: Role = WHOLE

    def __post_init__(self) -> None:
        if self.simulations < 1:
            raise ValueError(f"agent {self.name!r} searches {self.simulations} times: use at least 1")

    @classmethod
    def of(cls, simulations: str) -> SearchAgent:
        """The agent of the word `mcts:SIMULATIONS`."""
        if not (simulations.isascii() and simulations.isdigit()):
            raise ValueError(f"agent 'mcts:{simulations}': say how many simulations a move, as in mcts:400")
        return cls(int(simulations), f"mcts:{simulations}")

    async def act(self, context: Context) -> str:
        said = [message["content"] for message in context.messages]
        past = [(heard, self.role.move(reply)) for heard, reply in zip(said[::2], said[1::2], strict=False)]
        seed = derive(*context.seed, context.turn, "search")
        steps: Iterator[Mapping[str, float]] | None = None

        def go_on(game: Game, seat: str) -> Mapping[str, float]:
            nonlocal steps
            steps = steps or searching(game, seat, past=past, simulations=self.simulations, seed=seed)
            stop = time.monotonic() + STRETCH
            return next((odds for odds in steps if odds or time.monotonic() > stop), {})

        odds: Mapping[str, float] = {}
        while context.plays and not (odds := context.plays(go_on)):
            await asyncio.sleep(0)  # other games go on, and whoever has lost patience is heard
        return self.role.words(drawn(context, lambda *_: odds))

    def suits(self, game: Game, role: str = "") -> None:
        """Raise `Unsuited` where moves aren't listed, or the search would have to look at what is hidden."""
        needs_listed_moves(self.name, game, role)
        if not game.info.perfect_information and type(game).knows is Game.knows:
            raise Unsuited(f"agent {self.name!r} can't play {game}: it hides something and has no knows(seat)")


def search(game: Game, seat: str, *, past: Past, simulations: int, seed: int) -> Mapping[str, float]:
    """How often each legal move of `seat` was tried, as probabilities; all on the first best with perfect information.

    `past` is what the seat has heard and moved before. The game and its random numbers stay as they are. Raises
    ValueError where moves aren't listed, and where no deal is found that fits what the seat knows.
    """
    return next(filter(None, searching(game, seat, past=past, simulations=simulations, seed=seed)))


def searching(game: Game, seat: str, *, past: Past, simulations: int, seed: int) -> Iterator[Mapping[str, float]]:
    """A `search` step by step: nothing after each but the last, then what it found."""
    legal = game.legal(seat)
    if not legal:
        raise ValueError(f"mcts needs a game that lists its legal moves, which {game} does not: seat another agent")
    if len(legal) == 1:
        yield {legal[0]: 1.0}
        return
    rng = random.Random(seed)
    worlds = _copies(game, rng) if game.info.perfect_information else _deals(game, seat, past, rng)
    forest, done = _Forest(game.possible_agents, rng), 0
    while done < simulations:
        if (world := next(worlds)) is not None:
            forest.simulate(world)
            done += 1
        yield {}
    tried = forest.root(seat, game).tried
    visits = [tried[move][0] if move in tried else 0.0 for move in legal]
    if game.info.perfect_information:
        best = visits.index(max(visits))
        yield {move: float(i == best) for i, move in enumerate(legal)}
    else:
        yield {move: count / simulations for move, count in zip(legal, visits, strict=True)}


# -- the trees -----------------------------------------------------------------------------------------------------


class _Node:
    """What a seat did where it had heard and said the same: by move [visits, sum of its returns]."""

    __slots__ = ("after", "tried", "visits")

    def __init__(self) -> None:
        self.tried: dict[str, list[float]] = {}
        self.after: dict[tuple[object, str], _Node] = {}  # by what it said here and heard next
        self.visits = 0


class _Forest:
    """A tree for each seat, grown by `simulate`."""

    def __init__(self, seats: Sequence[str], rng: random.Random):
        self.rng = rng
        self.roots = {seat: _Node() for seat in seats}
        self.low = dict.fromkeys(seats, math.inf)  # of the returns so far
        self.high = dict.fromkeys(seats, -math.inf)

    def root(self, seat: str, game: Game) -> _Node:
        """The node of a seat's first decision, where it is asked now."""
        return self.roots[seat].after[game.knows(seat), game.observe(seat)["text"]]

    def simulate(self, world: Game) -> None:
        """Play `world` to its end: by UCB1 while a seat is within its tree, at random from its first new node on."""
        rng, totals = self.rng, dict.fromkeys(self.roots, 0.0)
        at: dict[str, _Node | None] = dict(self.roots)
        said: dict[str, object] = {}
        path: list[tuple[str, _Node, str]] = []
        while seat := world.turn():
            node, legal = at[seat], world.legal(seat)
            if not legal:
                raise ValueError(f"mcts needs a game that lists its legal moves, which {world} does not for {seat}")
            if node is None:
                move = legal[rng.randrange(len(legal))]
            else:
                key = (said[seat] if seat in said else world.knows(seat), world.observe(seat)["text"])
                after = node.after.get(key)
                if after is None:
                    after = node.after[key] = _Node()
                move = self._choose(seat, after, legal)
                at[seat] = after if after.visits else None
                path.append((seat, after, move))
                said[seat] = move
            world.step(move)
            for earner, reward in world.rewards.items():
                totals[earner] += reward
        for seat, total in totals.items():
            self.low[seat], self.high[seat] = min(self.low[seat], total), max(self.high[seat], total)
        for seat, node, move in path:
            node.visits += 1
            tried = node.tried.setdefault(move, [0, 0.0])
            tried[0] += 1
            tried[1] += totals[seat]

    def _choose(self, seat: str, node: _Node, legal: Sequence[str]) -> str:
        """Any move that hasn't been tried here; else the one with the best bound."""
        tried = node.tried
        if fresh := [move for move in legal if move not in tried]:
            return fresh[self.rng.randrange(len(fresh))]
        low, spread = self.low[seat], (self.high[seat] - self.low[seat]) or 1.0
        log = math.log(node.visits)

        def bound(move: str) -> float:
            visits, total = tried[move]
            return (total / visits - low) / spread + EXPLORE * math.sqrt(log / visits)

        return max(legal, key=bound)


# -- the worlds ----------------------------------------------------------------------------------------------------


def _copies(game: Game, rng: random.Random) -> Iterator[Game]:
    """The position itself, each time with another future chance."""
    while True:
        world = copy.deepcopy(game)
        if game.info.chance:
            world.rng.seed(rng.getrandbits(64))
        yield world


def _deals(game: Game, seat: str, past: Past, rng: random.Random) -> Iterator[Game | None]:
    """Worlds in which `seat` has heard and moved as in `past`, and knows what it knows now; None while one is sought.

    Nothing of `game` is used but its rules and what this seat can see, so that no world tells what is hidden. A task
    isn't dealt again: it may hold what is hidden too.
    """
    dealer = _Dealer(seat, [*past, (game.observe(seat)["text"], "")], game.knows(seat), rng, WORK)
    if dealer.knows is None:
        raise ValueError(f"mcts can't play {game}: it hides something, and knows({seat!r}) says nothing of it")
    blank, found = copy.deepcopy(game), list[Game]()
    while dealer.work > 0:
        blank.reset(seed=rng.getrandbits(64))
        for world in dealer.lead(blank):
            if world is not None:
                found.append(copy.deepcopy(world))
            yield world
    if not found:
        raise ValueError(
            f"mcts found no deal of {game} that fits what {seat} knows, in {WORK} tries: seat another agent"
        )
    while True:
        for world in found:
            again = copy.deepcopy(world)
            again.rng.seed(rng.getrandbits(64))
            yield again


@dataclass
class _Dealer:
    """Leads fresh deals to where a seat stands; `work` deals and moves are left to be tried."""

    seat: str
    past: Past
    knows: object
    rng: random.Random
    work: int

    def lead(self, deal: Game) -> Iterator[Game | None]:
        """The position at the seat's last turn, if this deal and some moves of the others lead there.

        The others' moves are tried in a random order, depth first; None comes after each of them.
        """
        self.work -= 1
        waiting: list[tuple[Game, int, str]] = []  # a position, the number of the seat's turns before it, a next move
        world, turn = deal, self._follow(deal, 0)
        while self.work > 0:
            if turn == len(self.past) - 1 and self.seat in world.acting:
                yield world
                return
            if turn >= 0:
                moves = list(world.legal(world.turn()))
                self.rng.shuffle(moves)
                waiting += [(world, turn, move) for move in moves]
            if not waiting:
                break
            before, turn, move = waiting.pop()
            self.work -= 1
            world = copy.deepcopy(before)
            world.step(move)
            turn = self._follow(world, turn)
            yield None
        yield None

    def _follow(self, world: Game, turn: int) -> int:
        """The number of the seat's turns when it is another's, or its own last one; -1 where it isn't as it was."""
        while True:
            heard, move = self.past[turn]
            now, asked = world.observe(self.seat)["text"], world.turn()
            if (self.seat in world.acting and now != heard) or not asked or not heard.startswith(now):
                return -1
            if turn == len(self.past) - 1 and self.seat in world.acting:
                return turn if world.knows(self.seat) == self.knows else -1
            if asked != self.seat:
                return turn
            world.step(move)
            if world.judged:
                return -1
            turn += 1
