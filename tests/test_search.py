"""Tree search: it finds what is forced, never looks at what is hidden, and leaves the game as it was."""

import asyncio
import copy
import random
import time

import pytest

from arena.agent import OracleAgent, RandomAgent, draw
from arena.cast import Cast
from arena.game import Game, GameInfo
from arena.guard import Guarded, Rules
from arena.make import make
from arena.play import play
from arena.search import SearchAgent, search
from arena.seeding import derive
from games.connect_four import ConnectFour
from games.kuhn_poker import KuhnPoker


def best(game, simulations=300, seed=0, past=()):
    seat = game.turn()
    odds = search(game, seat, past=past, simulations=simulations, seed=seed)
    assert set(odds) <= set(game.legal(seat))
    assert sum(odds.values()) == pytest.approx(1)
    return max(odds, key=odds.get)


def after(game, moves):
    game.reset(seed=0)
    for move in moves.split():
        game.step(move)
        assert not game.judged
    return game


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moves", "forced"),
    [
        ("1 7 2 7 3 6", "4"),  # X has three in the bottom row
        ("1 4 1 5 2 6", "7 3"),  # O has three, open at both ends: X can close one only, and any other move is worse
        ("4 4 3 4", "2 5"),  # two in a row, free at both ends: a third makes two threats
        ("7 1 7 2 7", "7"),  # O must close the column
    ],
)
def test_it_finds_what_is_forced_in_connect_four(moves, forced):
    for seed in range(3):
        assert best(after(ConnectFour(), moves), 600, seed) in forced.split()


@pytest.mark.slow
def test_it_never_loses_tic_tac_toe_to_random_play():
    """200 games with the simulations of the bare word; a position that comes again is searched once."""
    found, rng = {}, random.Random(0)
    for seed in range(200):
        game, mine = after(make("tic_tac_toe"), ""), ("x_0", "o_0")[seed % 2]
        while seat := game.turn():
            if seat == mine and game.board not in found:
                found[game.board] = best(game, SearchAgent().simulations)
            game.step(found[game.board] if seat == mine else rng.choice(game.legal(seat)))
        assert game.rewards[mine] >= 0, game.board


def hand(mine, theirs, line=""):
    """Kuhn poker after `line`, the cards as given."""
    game = KuhnPoker()
    game.reset(seed=0)
    rng = _Cards()
    rng.cards = mine + theirs
    game.deal(rng)
    for move in line.split():
        game.step(move)
    return game


class _Cards(random.Random):
    """Deals these cards."""

    cards = ""

    def sample(self, population, k, *, counts=None):
        return list(self.cards[:k])


@pytest.mark.parametrize("line", ["", "check", "bet"])
@pytest.mark.parametrize("card", "JQK")
def test_it_does_not_know_the_other_s_card(card, line):
    """Swapping the hidden card changes nothing, to the last visit."""
    chosen = []
    for other in "JQK".replace(card, ""):
        game = hand(card, other) if not line else hand(other, card, line)
        chosen.append(search(game, game.turn(), past=(), simulations=60, seed=1))
    assert chosen[0] == chosen[1]


def test_it_plays_kuhn_poker_by_its_card():
    assert best(hand("J", "Q", "bet")) in ("fold", "call")
    assert best(hand("Q", "K", "bet"), past=()) == "call"  # the second seat holds the king
    assert best(hand("K", "J", "bet")) == "fold"  # and here the jack


class Bits(Game):
    """Both guess at once which of two coins fell; only `watcher` saw the first one. Right guesses pay 1."""

    roles = {"watcher": 1, "blind": 1}
    info = GameInfo(simultaneous=True, chance=True)

    def start(self, rng, task):
        self.coins = rng.choice("ht"), rng.choice("ht")
        self.tell(f"The first is {self.coins[0]}.", "watcher_0")
        return "blind_0", "watcher_0"

    def legal(self, seat):
        return ("h", "t") if seat == "blind_0" else ("hh", "ht", "th", "tt")

    def play(self, moves):
        self.score(watcher_0=float(moves["watcher_0"][0] == self.coins[0]), blind_0=float(moves["blind_0"] == "h"))
        return ()

    def knows(self, seat):
        return self.coins[0] if seat == "watcher_0" else ""


def test_a_simultaneous_stage_is_searched_before_anybody_has_moved():
    for seed in range(4):
        game = Bits()
        game.reset(seed=seed)
        seen = search(game, "watcher_0", past=(), simulations=100, seed=0)
        assert max(seen, key=seen.get)[0] == game.coins[0]
        game.step("t")  # the other seat has moved; its move is as hidden as before
        assert search(game, "watcher_0", past=(), simulations=100, seed=0) == seen


class Trust(Game):
    """In turn, two take or pass it on. If the first takes, both have 1; if the second does, it has 1; else 2 and 3."""

    roles = {"friend": 2}
    info = GameInfo(perfect_information=True)

    def start(self, rng, task):
        self.passed = 0
        return self._ask()

    def _ask(self):
        self.tell(f"Passed: {self.passed}.", f"friend_{self.passed}")
        return (f"friend_{self.passed}",)

    def legal(self, seat):
        return "take", "pass"

    def play(self, moves):
        if "take" in moves.values():
            self.score(friend_0=0.0 if self.passed else 1.0, friend_1=1.0)
            return ()
        self.passed += 1
        if self.passed == 2:
            self.score(friend_0=2.0, friend_1=3.0)
            return ()
        return self._ask()

    def state_text(self):
        return str(self.passed)


def test_every_seat_looks_after_itself_where_the_sum_is_not_zero():
    """The second gains by passing, so the first does too: nobody wants to harm another."""
    for moves in ("", "pass"):
        assert best(after(Trust(), moves)) == "pass"


def test_a_team_is_searched_as_one_that_has_one_interest():
    game = make("dec_tiger", horizon=1)
    game.reset(seed=0)
    assert best(game, 2000) == "listen"


def test_chance_to_come_is_not_known():
    """The coin that will be tossed is another one in each simulation, so its side can't be learned beforehand."""

    class Toss(Game):
        """Take 0.6 for sure, or 1 if the coin that falls next shows heads."""

        roles = {"player": 1}
        info = GameInfo(chance=True, perfect_information=True)

        def start(self, rng, task):
            self.tell("Sure or toss?")
            return ("player_0",)

        def legal(self, seat):
            return "sure", "toss"

        def play(self, moves):
            heads = self.rng.random() < 0.3
            self.score(player_0=0.6 if moves["player_0"] == "sure" else float(heads))
            return ()

        def state_text(self):
            return "open"

    for seed in range(30):  # in some of these games the coin would fall on heads
        game = Toss()
        game.reset(seed=seed)
        assert best(game, 60) == "sure"


def test_the_game_is_left_as_it_was():
    for name in ("tic_tac_toe", "kuhn_poker", "truel"):
        game = make(name)
        game.reset(seed=4)
        seat = game.turn()
        game.action_space(seat).seed(5)
        streams = game.rng.getstate(), copy.deepcopy(game.action_space(seat).np_random.bit_generator.state)
        before = {key: copy.deepcopy(part) for key, part in vars(game).items() if key not in ("rng", "_spaces")}
        best(game, 50)
        assert {key: part for key, part in vars(game).items() if key not in ("rng", "_spaces")} == before
        assert (game.rng.getstate(), game.action_space(seat).np_random.bit_generator.state) == streams


def test_the_same_seed_says_the_same_and_past_turns_are_followed():
    agents = {"first": SearchAgent(40), "second": SearchAgent(40)}
    games = [
        asyncio.run(play(make("rock_paper_scissors", rounds=4), {"player": SearchAgent(40)}, seed=3)) for _ in "ab"
    ]
    assert [turn.move for turn in games[0].turns] == [turn.move for turn in games[1].turns]
    assert [game.ending for game in games] == ["over", "over"]
    for seed in range(8):
        assert asyncio.run(play(make("kuhn_poker"), agents, seed=seed)).ending == "over"


def test_a_truel_with_seats_that_leave_is_searched_too():
    episode = asyncio.run(
        play(make("truel"), {"first": SearchAgent(60), "second": OracleAgent(), "third": OracleAgent()}, seed=1)
    )
    assert episode.ending == "over"
    assert not episode.illegal


# -- what can't be searched --------------------------------------------------------------------------------------------


def test_a_game_that_does_not_say_what_a_seat_knows_is_refused_before_it_is_played():
    class Silent(KuhnPoker):
        knows = Game.knows

    with pytest.raises(ValueError, match=r"agent 'mcts:7' can't play Silent: it hides something and has no knows"):
        Cast().check("mcts:7", Silent())
    game = Silent()
    game.reset(seed=0)
    with pytest.raises(ValueError, match="knows\\('first_0'\\) says nothing"):
        best(game)


def test_a_game_that_lists_no_moves_is_refused():
    class Open(Bits):
        def legal(self, seat):
            return ()

    game = Open()
    game.reset(seed=0)
    with pytest.raises(ValueError, match="needs a game that lists its legal moves, which Open does not"):
        search(game, game.turn(), past=(), simulations=9, seed=0)


def test_a_past_that_no_deal_leads_to_is_told(monkeypatch):
    monkeypatch.setattr("arena.search.WORK", 200)
    with pytest.raises(ValueError, match="found no deal of KuhnPoker that fits"):
        best(hand("J", "Q", "check"), past=[("Card: Z.", "check")])


@pytest.mark.parametrize("word", ["mcts:0", "mcts:-3", "mcts:many", "mcts:1.5", "mcts:²"])
def test_a_number_of_simulations_that_is_none_is_refused(word):
    with pytest.raises(ValueError, match=r"simulations|searches 0 times"):
        Cast().agent(word)


def test_its_words_make_agents():
    assert Cast().agent("mcts") == SearchAgent()
    assert (Cast().agent("mcts:50").simulations, Cast().agent("mcts:50").name) == (50, "mcts:50")


# -- beside others -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", ["tic_tac_toe", "kuhn_poker"])
def test_a_long_search_is_stopped_by_the_rules_and_stalls_nobody_meanwhile(label):
    thinker = Guarded(SearchAgent(10_000), Rules(patience=0.2))
    played = []

    async def others():
        while True:
            played.append(await play(make(label), dict.fromkeys(make(label).roles, RandomAgent()), seed=len(played)))
            await asyncio.sleep(0)

    async def both():
        busy = asyncio.ensure_future(others())
        game = make(label)
        episode = await asyncio.wait_for(play(game, dict.fromkeys(game.roles, thinker), seed=1), 20)
        busy.cancel()
        return episode

    begun = time.monotonic()
    episode = asyncio.run(both())
    assert (episode.ending, "no reply within 0.2 s" in episode.reason) == ("infra", True)
    assert 0.2 <= time.monotonic() - begun < 10  # a busy machine; without its turns the rule would never be heard
    assert len(played) > 3


@pytest.mark.parametrize("label", ["tic_tac_toe", "kuhn_poker", "leduc_poker"])
@pytest.mark.parametrize("stretch", [0.0, 3600.0])
def test_giving_way_changes_no_move(label, stretch, monkeypatch):
    """Whether a search is broken up after every simulation or never, it replies as the same search done at once."""
    monkeypatch.setattr("arena.search.STRETCH", stretch)
    game = make(label)
    episode = asyncio.run(play(game, dict.fromkeys(game.roles, SearchAgent(25)), seed=3))
    again = make(label)
    again.reset(seed=3)
    past = {seat: [] for seat in again.possible_agents}
    for turn in episode.turns:
        seed = derive(3, turn.seat, len(past[turn.seat]), "search")
        odds = search(again, turn.seat, past=past[turn.seat], simulations=25, seed=seed)
        move = list(odds)[draw(list(odds.values()), derive(3, turn.seat, len(past[turn.seat])))]
        assert turn.move == move
        past[turn.seat].append((turn.heard, move))
        again.step(move)
