"""Whist with a few cards: two partnerships of two, who know of each other only what is played."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from arena.game import Bot, Game, GameInfo, Seats
from arena.types import Task

SEATS = tuple(f"player_{i}" for i in range(4))
SUITS = "SH"  # spades are trumps
RANKS = "23456789TJQKA"


def told(trick: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"{seat} {card}" for seat, card in trick)


def strength(card: str, led: str) -> int:
    """What a card is worth in a trick that was led with the suit `led`: trumps, then that suit, then nothing."""
    suit, rank = card
    return (200 if suit == SUITS[0] else 100 if suit == led else 0) + RANKS.index(rank)


def best(trick: tuple[tuple[str, str], ...]) -> str:
    """The seat whose card takes the trick."""
    led = trick[0][1][0]
    return max(trick, key=lambda played: strength(played[1], led))[0]


def high(game: MiniWhist, seat: str) -> Mapping[str, float]:
    """Plays its highest card where that takes the trick from the other side, else its lowest."""
    cards = sorted(game.legal(seat), key=lambda card: strength(card, game.trick[0][1][0] if game.trick else card[0]))
    chosen = cards[-1]
    if game.trick:
        holder = best(game.trick)
        partner = SEATS.index(holder) % 2 == SEATS.index(seat) % 2
        if partner or best((*game.trick, (seat, chosen))) != seat:
            chosen = cards[0]
    return {card: float(card == chosen) for card in game.legal(seat)}


class MiniWhist(Game):
    """player_0 and player_2 play against player_1 and player_3. Follow suit if you can; spades beat hearts.

    The highest card takes the trick and leads the next; the side with more tricks wins 1 from the other, as many draw.
    Who leads first is drawn, `ranks` is the number of cards of each suit.
    """

    roles: Mapping[str, int] = {"player": 4}
    info = GameInfo(zero_sum=True, chance=True)
    # The sides are alike and the lead is drawn, so that neither can be worth more than the other.
    known: Mapping[str, float] = {"value": 0.0}
    bots: Mapping[str, Bot] = {"high": high}

    def __init__(self, ranks: int = 6):
        if ranks % 2 or not 2 <= ranks <= len(RANKS):
            raise ValueError(f"ranks is {ranks}: use an even number from 2 to 12, so that four hands are alike")
        self.ranks = RANKS[-ranks:]

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        deck = [suit + rank for suit in SUITS for rank in self.ranks]
        rng.shuffle(deck)
        size = len(deck) // 4
        self.hands = {seat: tuple(sorted(deck[i * size : (i + 1) * size])) for i, seat in enumerate(SEATS)}
        self.dealt = dict(self.hands)
        self.trick: tuple[tuple[str, str], ...] = ()  # (seat, card) as played
        self.taken = [0, 0]  # tricks of each side
        self.past = ""
        return self._ask(rng.choice(SEATS))

    def teams(self) -> tuple[Seats, ...]:
        return (SEATS[::2], SEATS[1::2])

    def legal(self, seat: str) -> tuple[str, ...]:
        led = self.trick[0][1][0] if self.trick else ""
        return tuple(card for card in self.hands[seat] if card[0] == led) or self.hands[seat]

    def play(self, moves: Mapping[str, Any]) -> Seats:
        ((seat, card),) = moves.items()
        self.hands[seat] = tuple(held for held in self.hands[seat] if held != card)
        self.trick = (*self.trick, (seat, card))
        if len(self.trick) < len(SEATS):
            return self._ask(SEATS[(SEATS.index(seat) + 1) % 4])
        winner = best(self.trick)
        self.taken[SEATS.index(winner) % 2] += 1
        self.past += f" {told(self.trick)}: {winner}."
        self.trick = ()
        return self._ask(winner) if self.hands[winner] else self._close()

    def _close(self) -> Seats:
        one, two = self.taken
        if one != two:
            for side, team in enumerate(self.teams()):
                self.score(**dict.fromkeys(team, 1.0 if self.taken[side] > self.taken[1 - side] else -1.0))
        self.tell(f"Tricks:{self.past} player_0 and player_2 took {one}, player_1 and player_3 took {two}.")
        return ()

    def _ask(self, seat: str) -> Seats:
        actions = " ".join(f"[{card}]" for card in self.legal(seat))
        self.tell(
            f"Tricks:{self.past or ' none.'} {self._lying()} Cards: {' '.join(self.hands[seat])}. {actions}", seat
        )
        return (seat,)

    def _lying(self) -> str:
        return f"Played: {told(self.trick)}." if self.trick else "You lead."

    def knows(self, seat: str) -> tuple[Any, ...]:
        return self.dealt[seat], self.past, self.trick

    def state_text(self) -> str:
        hands = " ".join(f"{seat}: {' '.join(cards)}." for seat, cards in self.hands.items())
        return f"Tricks:{self.past or ' none.'} {hands} {self._lying()}"
