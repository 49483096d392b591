"""PettingZoo's classic games in words, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pettingzoo.utils.wrappers import BaseWrapper

from arena.foreign import need
from arena.foreign.pettingzoo import Worded
from arena.game import GameInfo

TWO = {"first": ["player_0"], "second": ["player_1"]}
BOARD = GameInfo(zero_sum=True, perfect_information=True)
BETS = ("call", "raise", "fold", "check")
THROWS = ("rock", "paper", "scissors", "spock", "lizard")
SUITS = {"S": "♠", "H": "♥", "D": "♦", "C": "♣"}


def _game(path: str, package: str, **params: Any) -> Any:
    """An environment of `pettingzoo.classic` without the wrappers around it: legality is judged here."""
    return need(f"pettingzoo.classic.{path}", package).raw_env(**params)


# -- boards ----------------------------------------------------------------------------------------------------------


def tictactoe() -> Worded:
    return Worded(
        partial(_game, "tictactoe.tictactoe", "pygame"),
        _crosses,
        _cells,
        rules="Tic-tac-toe: three in a row, column or diagonal win.\nA move is the number of an empty cell.",
        roles={"first": ["player_1"], "second": ["player_2"]},
        info=BOARD,
    )


def _crosses(agent: str, observation: Mapping[str, Any]) -> str:
    mine, theirs = ("x", "o") if agent == "player_1" else ("o", "x")
    planes = observation["observation"]  # [column, row, mine or theirs]: cells are numbered down the columns
    cell = {
        (x, y): mine if planes[x, y, 0] else theirs if planes[x, y, 1] else str(3 * x + y)
        for x in range(3)
        for y in range(3)
    }
    rows = [" ".join(cell[x, y] for x in range(3)) for y in range(3)]
    return "\n".join([f"You are {mine}.", *rows])


def _cells(agent: str, observation: Mapping[str, Any]) -> dict[str, int]:
    return {str(i): i for i in range(9)}


def connect_four() -> Worded:
    return Worded(
        partial(_game, "connect_four.connect_four", "pygame"),
        _discs,
        _columns,
        rules="Connect four: discs fall to the lowest empty cell of a column.\nFour in a row, column or diagonal win.",
        roles=TWO,
        info=BOARD,
    )


def _discs(agent: str, observation: Mapping[str, Any]) -> str:
    mine, theirs = ("x", "o") if agent == "player_0" else ("o", "x")
    rows = ["".join(mine if a else theirs if b else "." for a, b in row) for row in observation["observation"]]
    return "\n".join([f"You are {mine}.", *rows, "0123456"])


def _columns(agent: str, observation: Mapping[str, Any]) -> dict[str, int]:
    return {str(i): i for i in range(7)}


def chess() -> Worded:
    return Worded(
        _chess,
        _position,
        _san,
        rules="Chess, by the usual rules; draws are claimed as soon as they can be.\n"
        "Moves are in standard notation, such as e4, Nf3, exd5, O-O or e8=Q+.",
        roles=TWO,
        info=BOARD,
    )


class Diagram(BaseWrapper):  # type: ignore[misc]
    """Shows a chess board as it stands; the planes of the environment lack the first position."""

    def observe(self, agent: str) -> dict[str, Any]:
        utils = need("pettingzoo.classic.chess.chess_utils", "chess")
        board, player = self.unwrapped.board, self.possible_agents.index(agent)
        on_move = agent == self.agent_selection and not self.terminations[agent]
        actions = sorted(utils.legal_moves(board)) if on_move else []
        moves = {board.san(utils.action_to_move(board, action, player)): action for action in actions}
        return {"board": str(board), "fen": board.fen(), "moves": moves}


def _chess() -> Diagram:
    return Diagram(_game("chess.chess", "chess"))


def _position(agent: str, observation: Mapping[str, Any]) -> str:
    side = "white (capitals)" if agent == "player_0" else "black (small letters)"
    rows = [f"{8 - i} {row}" for i, row in enumerate(observation["board"].split("\n"))]
    _, turn, castling, passant, *_ = observation["fen"].split()
    last = f"{'White' if turn == 'w' else 'Black'} to move. Castling: {castling}. En passant: {passant}."
    return "\n".join([f"You are {side}.", *rows, "  a b c d e f g h", last])


def _san(agent: str, observation: Mapping[str, Any]) -> dict[str, int]:
    return dict(observation["moves"])


# -- hidden hands and hidden moves -----------------------------------------------------------------------------------


class Hand(BaseWrapper):  # type: ignore[misc]
    """Shows the cards of RLCard by name: what the agent holds, what lies open, and the chips that all can see."""

    def observe(self, agent: str) -> dict[str, Any]:
        shown = self.unwrapped.env.get_state(self.possible_agents.index(agent))["raw_obs"]
        kept = {
            key: shown[key] for key in ("hand", "public_card", "public_cards", "my_chips", "all_chips") if key in shown
        }
        return {**kept, "action_mask": super().observe(agent)["action_mask"]}


def leduc() -> Worded:
    return Worded(
        partial(_hand, "rlcard_envs.leduc_holdem"),
        _leduc,
        _bets,
        rules="Leduc hold'em: one card each of J, Q, K in two suits; a public card comes after the first round.\n"
        "Raises are 2 chips, then 4, two a round; a pair with the public card wins, else the high card. Pays chips/2.",
        roles=TWO,
        info=GameInfo(zero_sum=True, chance=True, forfeit=-7.0),
    )


def texas_holdem(num_players: int = 2) -> Worded:
    return Worded(
        partial(_hand, "rlcard_envs.texas_holdem", num_players=num_players),
        _texas,
        _bets,
        rules="Limit Texas hold'em: two cards each, then three, one and one open cards; bets before and after each.\n"
        "A raise is 2 chips, in the last two rounds 4, at most four a round; the best five cards win. Pays chips / 2.",
        roles=TWO if num_players == 2 else {"player": [f"player_{i}" for i in range(num_players)]},
        info=GameInfo(zero_sum=True, chance=True, forfeit=-25.0),
    )


def _hand(path: str, **params: Any) -> Hand:
    return Hand(_game(path, "rlcard", **params))


def _leduc(agent: str, observation: Mapping[str, Any]) -> str:
    hand, public = observation["hand"][1], (observation["public_card"] or "")[1:] or "not dealt yet"
    return f"Your card: {hand}. Public card: {public}. {_chips(observation)}"


def _texas(agent: str, observation: Mapping[str, Any]) -> str:
    public = " ".join(map(_card, observation["public_cards"])) or "none yet"
    return f"Your cards: {' '.join(map(_card, observation['hand']))}. Open cards: {public}. {_chips(observation)}"


def _card(index: str) -> str:
    return index[1] + SUITS[index[0]]


def _chips(observation: Mapping[str, Any]) -> str:
    return f"Your chips in the pot: {observation['my_chips']}, all chips in it: {sum(observation['all_chips'])}."


def _bets(agent: str, observation: Mapping[str, Any]) -> dict[str, int]:
    return {bet: i for i, bet in enumerate(BETS)}


def rps(num_actions: int = 3, max_cycles: int = 15) -> Worded:
    if num_actions not in (3, 5):
        raise ValueError(f"num_actions is {num_actions}: there are words for 3 and 5")
    return Worded(
        partial(_rounds, num_actions, max_cycles),
        partial(_last, num_actions),
        partial(_throws, num_actions),
        rules="Rock, paper, scissors, all at once: paper beats rock, scissors beat paper, rock beats scissors.\n"
        f"{max_cycles} rounds; each pays 1 to the winner and -1 to the loser."
        + (" Spock beats rock and scissors; lizard beats spock and paper." if num_actions == 5 else ""),
        roles={"player": ["player_0", "player_1"]},
        info=GameInfo(zero_sum=True, simultaneous=True),
    )


def _rounds(num_actions: int, max_cycles: int) -> Any:
    module = need("pettingzoo.classic.rps.rps", "pygame")
    return module.parallel_env(num_actions=num_actions, max_cycles=max_cycles)


def _last(num_actions: int, agent: str, observation: Any) -> str:
    last = int(observation)
    return f"The other's last throw: {THROWS[last] if last < num_actions else 'none yet'}."


def _throws(num_actions: int, agent: str, observation: Any) -> dict[str, int]:
    return {throw: i for i, throw in enumerate(THROWS[:num_actions])}


READY: Mapping[str, Callable[..., Worded]] = {
    "chess": chess,
    "connect_four": connect_four,
    "leduc": leduc,
    "rps": rps,
    "texas_holdem": texas_holdem,
    "tictactoe": tictactoe,
}
