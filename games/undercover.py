"""Undercover: one seat has another word than the rest, and nobody knows who; each round somebody is voted out."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from arena.game import Game, GameInfo, IllegalMove, Seats
from arena.types import Task
from games._speech import says, spoken, words
from games._words import PAIRS, PROPERTIES, has


def honest(game: Undercover, seat: str) -> Mapping[str, float]:
    """A bot whose clues are true of its word, and which votes for those with most clues that aren't."""
    word, moves = game.words[seat], game.legal(seat)
    if not game.voting:
        true = [clue for clue in moves if has(word, clue)] or list(moves)
        return dict.fromkeys(true, 1 / len(true))
    doubts = {other: sum(not _true(clue, word) for clue in game.clues[other]) for other in moves}
    suspects = [other for other in moves if doubts[other] == max(doubts.values())]
    return dict.fromkeys(suspects, 1 / len(suspects))


class Undercover(Game):
    """Each round all who are in give a clue to their word at once, then vote at once; who gets most votes is out.

    All words are the same but one. Who is out by mistake pays 1/(seats - 1) to the odd seat; once two are left, so does
    the other one. If the odd seat is out the game is over, and it pays 1 to those left. Lots decide between equals.
    """

    bots = {"honest": honest}

    def __init__(self, seats: int = 4, talk: int = 40):
        if not 4 <= seats <= 6:
            raise ValueError(f"seats is {seats}: use 4 to 6")
        if not 20 <= talk <= 200:
            raise ValueError(f"talk is {talk} characters: use 20 to 200")
        self.roles = {"player": seats}
        self.talk = talk
        self.info = GameInfo(zero_sum=True, simultaneous=True, chance=True, max_stages=2 * (seats - 2))

    def start(self, rng: random.Random, task: Task | None) -> Seats:
        common, other = rng.sample(rng.choice(PAIRS), 2)
        self.odd = rng.choice(self._seats)
        self.words = {seat: other if seat == self.odd else common for seat in self._seats}
        self.left: Seats = self._seats
        self.clues: dict[str, list[str]] = {seat: [] for seat in self._seats}
        self.votes: list[str] = []  # a line for each vote
        self.voting = False
        return self._ask()

    def legal(self, seat: str) -> Sequence[str]:
        """Who may be voted out; or properties as clues, though anything else may be said too."""
        if self.voting:
            return [other for other in self.left if other != seat]
        return [name for name in PROPERTIES if name not in self.clues[seat]]

    def parse(self, seat: str, text: str) -> str:
        if self.voting:
            if text not in self.legal(seat):
                raise IllegalMove(f"vote for {' or '.join(f'[{other}]' for other in self.legal(seat))}")
            return text
        clue = spoken(text, self.talk)
        if says(clue, self.words[seat], inside=True):
            raise IllegalMove("that says your own word")
        if words(clue) in map(words, self.clues[seat]):
            raise IllegalMove("you have said that before")
        return clue

    def play(self, moves: Mapping[str, Any]) -> Seats:
        if not self.voting:
            for seat in self.left:
                self.clues[seat].append(moves[seat])
            self.voting = True
            return self._ask()
        counts = Counter(moves.values())
        out = self.rng.choice(sorted(seat for seat, votes in counts.items() if votes == max(counts.values())))
        told = ", ".join(f"{seat} for {moves[seat]}" for seat in self.left)
        self.votes.append(f"Votes: {told}. {out} is out.")
        self.left = tuple(seat for seat in self.left if seat != out)
        self.voting = False
        return self._caught() if out == self.odd else self._mistaken(out)

    def _caught(self) -> Seats:
        self.score("caught", **{self.odd: -1.0}, **dict.fromkeys(self.left, 1 / len(self.left)))
        return self._close(caught=1.0)

    def _mistaken(self, out: str) -> Seats:
        """`out` pays the odd seat and leaves; so does the last one beside the odd seat, and all is over."""
        stake = 1 / (len(self._seats) - 1)
        over = len(self.left) == 2
        payers = [out, *(seat for seat in self.left if over and seat != self.odd)]
        self.score("fooled", **dict.fromkeys(payers, -stake), **{self.odd: stake * len(payers)})
        if over:
            return self._close(caught=0.0)
        self.tell(f"{self.votes[-1]} It had the same word as most.", out)
        self.retire(out)
        return self._ask()

    def _close(self, caught: float) -> Seats:
        self.note(caught=caught, rounds=float(len(self.votes)))
        self.tell(f"{self.votes[-1]} {self.odd} had the other word.")
        return ()

    def _ask(self) -> Seats:
        for seat in self.left:
            if self.voting:
                ask = f"Vote for who has another word: {' '.join(f'[{other}]' for other in self.legal(seat))}"
            else:
                ask = f"Give a clue to your word without saying it, at most {self.talk} characters, like [animal]"
            self.tell("\n".join([f"You are {seat}. Your word: {self.words[seat]}.", *self.talked(), ask]), seat)
        return self.left

    def talked(self) -> list[str]:
        """All clues, by seat, and all votes, a line each."""
        clues = [(seat, ", ".join(f'"{clue}"' for clue in said)) for seat, said in self.clues.items() if said]
        return [*(f"{seat}: {said}" for seat, said in clues), *self.votes]

    def knows(self, seat: str) -> Hashable:
        return self.words[seat], self.voting, *self.talked()

    def state_text(self) -> str:
        words = ", ".join(f"{seat} {word}" for seat, word in self.words.items())
        return "\n".join([f"Words: {words}. Left: {', '.join(self.left)}.", *self.talked()])


def _true(clue: str, word: str) -> bool:
    """Whether the clue is a property that the word has; of others one can't tell, which speaks for nobody."""
    return clue in PROPERTIES and has(word, clue)
