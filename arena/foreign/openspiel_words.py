"""Well-known games of OpenSpiel in words.

A view is made of nothing but what OpenSpiel shows to that player, so that no word can give away what it may not know.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

RANKS = "3456789TJQK"  # of poker decks, the highest last


def _same(text: str) -> str:
    return text


@dataclass(frozen=True)
class Words:
    """How a game is told: `rules` once, at the start; `view` at every turn; `move` for every action.

    `view(seen, player, rules)` reads OpenSpiel's text for that player, its number and the game; `move` reads
    OpenSpiel's name of an action.
    """

    rules: str
    view: Callable[[str, int, Any], str]
    move: Callable[[str], str] = _same


def _plain(seen: str, player: int, rules: Any) -> str:
    return f"You are player {player}.\n{seen.strip()}"


def _kuhn(seen: str, player: int, rules: Any) -> str:
    card, line = int(re.match(r"\d+", seen)[0]), re.sub(r"\d+", "", seen)  # type: ignore[index]
    moves = ", ".join({"p": "pass", "b": "bet"}[letter] for letter in line)
    deck = RANKS[-rules.num_players() - 1 :]
    return f"Your card: {deck[card]} (of {' < '.join(deck)}). Moves: {moves or 'none'}."


def _leduc(seen: str, player: int, rules: Any) -> str:
    told = dict(part.split(":", 1) for part in re.findall(r"\[([^\[\]]*:[^\[\]]*)\]", seen))
    ranks = rules.num_players() + 1
    deck = RANKS[-ranks:]
    suits = 1 if rules.get_parameters().get("suit_isomorphism") else 2
    names = {"0": "fold", "1": "call", "2": "raise"}
    lines = [", ".join(names[m] for m in told.get(f"Round{n}", "").split()) or "none" for n in (1, 2)]
    public = deck[int(told["Public"]) // suits] if "Public" in told else "not dealt yet"
    return (
        f"Your card: {deck[int(told['Private']) // suits]}. Public card: {public}. Pot: {told['Pot'].strip()}. "
        f"Chips left by player: {told['Money'].strip()}. You are player {player}.\n"
        f"Round 1: {lines[0]}. Round 2: {lines[1]}."
    )


def _liars_dice(seen: str, player: int, rules: Any) -> str:
    dice, *bids = seen.split()
    shown, count = ", ".join(bid.lower() for bid in bids) or "none", rules.num_players() * len(dice)
    return f"Your dice: {' '.join(dice)}. Bids so far (count-face): {shown}. Dice in all: {count}."


def _tic_tac_toe(seen: str, player: int, rules: Any) -> str:
    rows = [f"{i} {' '.join(row)}" for i, row in enumerate(seen.split())]
    return "\n".join([f"You are {'xo'[player]}.", "  0 1 2", *rows])


def _connect_four(seen: str, player: int, rules: Any) -> str:
    rows = seen.split()
    columns = "".join(str(i % 10) for i in range(len(rows[0])))
    return "\n".join([f"You are {'xo'[player]}.", *rows, columns])


def _breakthrough(seen: str, player: int, rules: Any) -> str:
    return f"You are {('b (black, moving down)', 'w (white, moving up)')[player]}.\n{seen.rstrip()}"


def _hex(seen: str, player: int, rules: Any) -> str:
    rows = [line.rstrip() for line in seen.split("\n") if line.strip()]
    width = max(len(row.split()) for row in rows)
    letters = "   " + " ".join(chr(ord("a") + i) for i in range(width))
    numbered = [f"{i:2} {row}" for i, row in enumerate(rows, 1)]
    side = ("x: connect top and bottom", "o: connect left and right")[player]
    return "\n".join([f"You are {side}.", letters, *numbered])


def _pig(seen: str, player: int, rules: Any) -> str:
    scores, turn = re.match(r"Scores: ([\d ]+), Turn total: (\d+)", seen).groups()  # type: ignore[union-attr]
    points = scores.split()
    others = ", ".join(score for i, score in enumerate(points) if i != player)
    return f"Your score: {points[player]}. Others: {others or 'none'}. This turn so far: {turn}."


def _goofspiel(seen: str, player: int, rules: Any) -> str:
    told = dict(line.split(":", 1) for line in seen.strip().split("\n") if ":" in line)
    lines = [
        f"You are player {player}. Prizes so far, the current one last:{told.pop('Point card sequence').rstrip()}."
    ]
    told.pop("Terminal?", None)
    for key, value in told.items():
        named = key.replace(f"P{player} hand", "Your hand").replace(f"P{player} action sequence", "Your bids")
        named = re.sub(r"^P(\d+) hand", r"Hand of player \1", named)
        named = {"Win sequence": "Rounds won by player (-3: nobody)", "Points": "Points by player"}.get(named, named)
        lines.append(f"{named}: {value.strip() or 'none'}.")
    return "\n".join(lines)


def _negotiation(seen: str, player: int, rules: Any) -> str:
    lines = [line for line in seen.strip().split("\n") if not line.startswith("Current player")]
    text = "\n".join(lines).replace(f"Agent {player} util vec", "Worth to you of one of each kind")
    return text.replace("Item pool", "Items of each kind").replace("Max steps", "Proposals at most")


def _negotiation_move(action: str) -> str:
    if "Agreement" in action:
        return "accept"
    numbers = " ".join(re.findall(r"\d+", action))
    return f"say {numbers}" if "Utterance" in action else f"take {numbers}"


def _hanabi(seen: str, player: int, rules: Any) -> str:
    head, rest = seen.split("Hands:\n")
    hands, tail = rest.split("Deck size:")
    count, blocks = rules.num_players(), hands.split("-----\n")
    lines = []
    for i, block in enumerate(blocks):
        cards = [line.split(" || ") for line in block.strip().split("\n") if "||" in line]
        lines.append("Your hand:" if i == player else f"Hand of player +{(i - player) % count}:")
        for place, (card, told) in enumerate(cards):
            hint, possible = told.split("|")
            lines.append(f"  {place}: {card.replace('XX', 'unseen')}, told {hint}, may be {possible}")
    return "\n".join([head.strip(), *lines, f"Deck size:{tail}".strip()])


def _hanabi_move(action: str) -> str:
    verb, _, rest = action.strip("()").partition(" ")
    return f"{verb.lower()} {rest.removeprefix('player ')}"


def _chess(seen: str, player: int, rules: Any) -> str:
    board, turn, castling, passant, *_ = seen.split()
    rows = [re.sub(r"\d", lambda empty: "." * int(empty[0]), row) for row in board.split("/")]
    numbered = [f"{8 - i} {' '.join(row)}" for i, row in enumerate(rows)]
    side = {"w": "white (capitals)", "b": "black (small letters)"}[turn]
    return "\n".join(
        [f"You are {side}.", *numbered, "  a b c d e f g h", f"Castling: {castling}. En passant: {passant}."]
    )


RAW = Words("", _plain)
WORDS: Mapping[str, Words] = {
    "kuhn_poker": Words(
        "Kuhn poker: one card each, everybody antes 1 chip, and a bet costs 1 more.\n"
        "Once somebody has bet, [bet] calls and [pass] folds; the highest card still in wins the pot.",
        _kuhn,
        str.lower,
    ),
    "leduc_poker": Words(
        "Leduc poker: one card each from two suits, ante 1; a public card comes after the first of two rounds.\n"
        "A raise costs 2 in round 1 and 4 in round 2, at most two a round; a pair with the public card beats all else.",
        _leduc,
        str.lower,
    ),
    "liars_dice": Words(
        "Liar's dice: everybody sees their own dice only and bids how many dice of a face there are in all.\n"
        "Bid higher than the last bid or say [liar]: then the dice are counted. The highest face counts as any face.",
        _liars_dice,
        str.lower,
    ),
    "tic_tac_toe": Words(
        "Tic-tac-toe: three in a row, column or diagonal win.\nA move is the row and the column of an empty cell.",
        _tic_tac_toe,
        lambda action: action[2:-1],
    ),
    "connect_four": Words(
        "Connect four: discs fall to the lowest empty cell of a column.\nFour in a row, column or diagonal win.",
        _connect_four,
        lambda action: action[1:],
    ),
    "breakthrough": Words(
        "Breakthrough: a piece moves one step forward, straight or diagonally, and captures diagonally only.\n"
        "Who reaches the far row or takes every piece wins. A move is from and to, as a7b6; * marks a capture.",
        _breakthrough,
    ),
    "hex": Words(
        "Hex: put a stone on an empty cell; each cell touches six others.\n"
        "x wins by a chain from top to bottom, o by one from left to right.",
        _hex,
    ),
    "pig": Words(
        "Pig: roll a die as often as you like; what you roll adds up, but a 1 loses it and ends your turn.\n"
        "[stop] banks this turn's points. Who first has the winning score wins.",
        _pig,
    ),
    "goofspiel": Words(
        "Goofspiel: in each round everybody bids a card of their hand for the prize, all at once.\n"
        "The highest bid takes the prize's points, a tie nobody; each card is used once and most points win.",
        _goofspiel,
        lambda action: action.split(":")[1],
    ),
    "negotiation": Words(
        "Negotiation: split items of several kinds; you know what they are worth to you, not to the other.\n"
        "[take ...] proposes how many of each kind you get; the other gets the rest by [accept]. No deal pays nobody.",
        _negotiation,
        _negotiation_move,
    ),
    "hanabi": Words(
        "Hanabi: together build each colour from 1 up; you see all hands but your own. A wrong play costs a life.\n"
        "Telling a colour or rank costs an information token, a discard brings one back. Points are cards built.",
        _hanabi,
        _hanabi_move,
    ),
    "chess": Words(
        "Chess, by the usual rules.\nMoves are in standard notation, such as e4, Nf3, exd5, O-O or e8=Q+.",
        _chess,
    ),
}
