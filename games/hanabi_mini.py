"""Hanabi with two colours and three ranks: everybody sees your cards but you."""

from __future__ import annotations

import random
from collections.abc import Hashable, Mapping
from itertools import product
from typing import Any, NamedTuple

from arena.game import Bot, Game, GameInfo, Seats
from arena.types import Task

COLOURS = ("red", "blue")
RANKS = ("1", "2", "3")
COPIES = {"1": 3, "2": 2, "3": 1}  # of each rank in a colour, in the proportions of the big game
HAND, HINTS, LIVES = 2, 3, 2


class Card(NamedTuple):
    colour: str
    rank: str

    def __str__(self) -> str:
        return f"{self.colour} {self.rank}"


DECK = tuple(Card(colour, rank) for colour in COLOURS for rank in RANKS for _ in range(COPIES[rank]))


class Held(NamedTuple):
    """A card in hand, what the hints about it leave open, and in which stage one touched it last, -1 if none did."""

    card: Card
    colours: tuple[str, ...] = COLOURS
    ranks: tuple[str, ...] = RANKS
    touched: int = -1

    def after(self, clue: str, stage: int) -> Held:
        """Once it is known whether a hint touches it."""
        yes = clue in self.card
        colours = tuple(c for c in self.colours if clue not in COLOURS or (c == clue) == yes)
        ranks = tuple(r for r in self.ranks if clue not in RANKS or (r == clue) == yes)
        return Held(self.card, colours, ranks, stage if yes else self.touched)

    def open(self) -> list[Card]:
        return [Card(*pair) for pair in product(self.colours, self.ranks)]

    def told(self) -> str:
        return f"{'/'.join(self.colours)} {'/'.join(self.ranks)}"


def careful(game: HanabiMini, seat: str) -> dict[str, float]:
    """A bot with one convention: a hint asks to play the oldest card that it touches, if that can be right.

    It plays what it is asked to or what surely fits, else hints at a card that fits, else discards.
    """
    moves = game.legal(seat)
    wanted = (*_plays(game, seat), *_hints(game, seat), *_discards(game, seat), *reversed(moves))
    best = next(move for move in wanted if move in moves)
    return {move: float(move == best) for move in moves}


def _asked(game: HanabiMini, seat: str) -> list[int]:
    """The card that the latest hint since its last move asks `seat` to play, if there was one."""
    stages = [held.touched for held in game.hands[seat]]
    latest = max(stages, default=-1)
    return [stages.index(latest)] if latest > game.moved[seat] else []


def _plays(game: HanabiMini, seat: str) -> list[str]:
    possible = [game.possible(seat, held) for held in game.hands[seat]]
    asked = [i for i in _asked(game, seat) if any(map(game.fits, possible[i]))]
    sure = [i for i, cards in enumerate(possible) if all(map(game.fits, cards))]
    return [f"play {i + 1}" for i in (*asked, *sure)]


def _hints(game: HanabiMini, seat: str) -> list[str]:
    """Those that ask for a card that fits and that nobody is asked for yet."""
    asked = {game.hands[other][i].card for other in game.others(seat) for i in _asked(game, other)}
    hints = []
    for other in game.others(seat):
        for clue in (*RANKS, *COLOURS):
            oldest = next((held.card for held in game.hands[other] if clue in held.card), None)
            if oldest and game.fits(oldest) and oldest not in asked and not _asked(game, other):
                hints.append(f"hint {other} {clue}")
    return hints


def _discards(game: HanabiMini, seat: str) -> list[str]:
    """What is surely of no use, then what no hint has touched, oldest first; where none may be discarded, a hint that
    can't be taken for a wish."""
    hand = game.hands[seat]
    dead = [i for i, held in enumerate(hand) if all(map(game.dead, game.possible(seat, held)))]
    untouched = [i for i, held in enumerate(hand) if held.touched < 0]
    idle = []
    for other in game.others(seat):
        for clue in (*RANKS, *COLOURS):
            oldest = next((held.after(clue, 0) for held in game.hands[other] if clue in held.card), None)
            if oldest and not any(map(game.fits, oldest.open())):
                idle.append(f"hint {other} {clue}")
    return [*(f"discard {i + 1}" for i in (*dead, *untouched, *range(len(hand)))), *idle]


class HanabiMini(Game):
    """You see all cards but yours. In turn play or discard one, or hint at all cards of one colour or rank in a hand.

    Cards go on the table from 1 to 3 by colour, for 1 each; the second that doesn't fit loses all. A hint costs one
    of 3 tokens, a discard or a finished colour gives one back. Everybody has one more turn after the last draw.
    """

    bots: Mapping[str, Bot] = {"careful": careful}
    # With all cards on the table. The bot has 5.16 on average, 4.97 with three seats; it is measured in its test.
    known: Mapping[str, float] = {"best": 6.0}

    def __init__(self, seats: int = 2):
        if seats not in (2, 3):
            raise ValueError(f"seats is {seats}: use 2 or 3")
        self.roles = {"player": seats}
        self.info = GameInfo(cooperative=True, chance=True, par=5.0, max_stages=60)

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        self.deck = list(DECK)
        self.hands = {seat: [Held(self._draw()) for _ in range(HAND)] for seat in self.possible_agents}
        self.moved = dict.fromkeys(self.hands, -1)  # the stage of each seat's last move
        self.table = dict.fromkeys(COLOURS, 0)
        self.discards: list[Card] = []
        self.hints, self.lives = HINTS, LIVES
        self.turns_left = len(self.hands)  # counted down once the deck is empty
        self.log: list[str] = []
        return self._ask(self.possible_agents[0])

    def _draw(self) -> Card:
        return self.deck.pop(self.rng.randrange(len(self.deck)))

    def legal(self, seat: str) -> tuple[str, ...]:
        places = range(1, len(self.hands[seat]) + 1)
        moves = [f"play {i}" for i in places]
        if self.hints < HINTS:
            moves += [f"discard {i}" for i in places]
        if self.hints:
            for other in self.others(seat):
                moves += [
                    f"hint {other} {c}" for c in (*COLOURS, *RANKS) if any(c in h.card for h in self.hands[other])
                ]
        return tuple(moves)

    def play(self, moves: Mapping[str, Any]) -> Seats:
        ((seat, move),) = moves.items()
        verb, *words = move.split()
        self.turns_left -= not self.deck
        if verb == "hint":
            self._hint(seat, *words)
        else:
            self._spend(seat, int(words[0]) - 1, verb)
        self.moved[seat] = self.stage
        if not self.lives or not self.turns_left or sum(self.table.values()) == len(COLOURS) * len(RANKS):
            self.tell(f"The end. {self._public()}")
            return ()
        return self._ask(self.others(seat)[0])

    def _hint(self, seat: str, other: str, clue: str) -> None:
        self.hints -= 1
        self.hands[other] = [held.after(clue, self.stage) for held in self.hands[other]]
        places = ", ".join(str(i) for i, held in enumerate(self.hands[other], 1) if clue in held.card)
        self._note(f"{seat} hints {other} {clue}: card {places}.")

    def _spend(self, seat: str, place: int, verb: str) -> None:
        """Play or discard a card and draw another."""
        card = self.hands[seat].pop(place).card
        fits = verb == "play" and self.fits(card)
        self._note(f"{seat} {verb}s {card}{', which fits' if fits else ''}.")
        if fits:
            self.table[card.colour] += 1
            self.score(**dict.fromkeys(self.hands, 1.0))
        else:
            self.discards.append(card)
            self.lives -= verb == "play"
        if not self.lives:
            self.score(**dict.fromkeys(self.hands, -float(sum(self.table.values()))))
        if verb == "discard" or (fits and card.rank == RANKS[-1]):
            self.hints = min(HINTS, self.hints + 1)
        if self.deck:
            self.hands[seat].append(Held(self._draw()))

    def _note(self, text: str) -> None:
        self.log.append(text)
        self.tell(text)

    def _ask(self, seat: str) -> Seats:
        others = " ".join(
            f"{other} holds {', '.join(f'{held.card} (knows {held.told()})' for held in self.hands[other])}."
            for other in self.others(seat)
        )
        own = ", ".join(held.told() for held in self.hands[seat])
        actions = " ".join(f"[{move}]" for move in self.legal(seat))
        self.tell(f"{self._public()} {others} You know of yours: {own}. Actions: {actions}", seat)
        return (seat,)

    def _public(self) -> str:
        table = ", ".join(f"{colour} {rank}" for colour, rank in self.table.items())
        gone = ", ".join(map(str, self.discards)) or "none"
        return f"Table: {table}. Discards: {gone}. Hints: {self.hints}. Lives: {self.lives}. Deck: {len(self.deck)}."

    def others(self, seat: str) -> list[str]:
        """The other seats, the next one first."""
        seats = list(self.hands)
        at = seats.index(seat)
        return seats[at + 1 :] + seats[:at]

    def fits(self, card: Card) -> bool:
        return int(card.rank) == self.table[card.colour] + 1

    def dead(self, card: Card) -> bool:
        """Whether it can't be of use any more: it lies there already, or all of a rank below it are gone."""
        below = RANKS[self.table[card.colour] : int(card.rank) - 1]
        lost = any(self.discards.count(Card(card.colour, rank)) == COPIES[rank] for rank in below)
        return lost or int(card.rank) <= self.table[card.colour]

    def possible(self, seat: str, held: Held) -> list[Card]:
        """What a card of `seat` can be, by the hints and by all that the seat sees."""
        seen = [*self.discards, *(other.card for s in self.others(seat) for other in self.hands[s])]
        seen += [Card(colour, rank) for colour, height in self.table.items() for rank in RANKS[:height]]
        return [card for card in held.open() if seen.count(card) < COPIES[card.rank]]

    def knows(self, seat: str) -> Hashable:
        own = tuple((held.colours, held.ranks, held.touched) for held in self.hands[seat])
        return own, tuple(tuple(self.hands[other]) for other in self.others(seat)), tuple(self.log)

    def state_text(self) -> str:
        held = " ".join(f"{seat}: {', '.join(str(h.card) for h in hand)}." for seat, hand in self.hands.items())
        return f"{self._public()} {held}"
