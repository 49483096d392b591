"""Mini whist: partners share their fate, suits are followed, trumps win, and hands stay hidden."""

import asyncio

import pytest

import arena
from arena import solve
from arena.match import match_of
from arena.ratings import Ratings
from arena.testing import check_game
from games.mini_whist import SEATS, MiniWhist, best, strength


def dealt(hands, leader="player_0"):
    """A game with these hands, one string of cards a seat."""
    game = MiniWhist(ranks=2 * len(hands[0].split()))
    game.reset(seed=0)
    game.hands = {seat: tuple(sorted(cards.split())) for seat, cards in zip(SEATS, hands, strict=True)}
    game.dealt = dict(game.hands)
    game._turn_to((leader,))
    game._select()
    return game


def test_the_contract_holds():
    check_game(MiniWhist, games=5)


@pytest.mark.parametrize(
    ("cards", "winner"),
    [
        ("HK HA H2 H3", "player_1"),
        ("HK S2 HA H3", "player_1"),
        ("H2 S3 SA S2", "player_2"),
        ("SA HA HK HQ", "player_0"),
    ],
)
def test_the_highest_trump_or_else_the_highest_of_the_suit_led_takes_a_trick(cards, winner):
    assert best(tuple(zip(SEATS, cards.split(), strict=True))) == winner


def test_a_discard_never_wins_however_high_it_is():
    assert strength("HA", "S") < strength("S2", "S")


def test_a_suit_that_is_held_must_be_followed():
    game = dealt(["HK S2", "HQ SA", "HA S3", "H2 S4"])
    assert game.legal("player_0") == ("HK", "S2")
    game.step("HK")
    assert game.legal("player_1") == ("HQ",)
    game = dealt(["HK H3", "SQ SA", "HA S3", "H2 S4"])
    game.step("HK")
    assert game.legal("player_1") == ("SA", "SQ")


def test_the_winner_of_a_trick_leads_the_next_and_partners_are_paid_alike():
    game = dealt(["HK S2", "HQ SA", "HA S3", "H2 S4"])
    for card in ("HK", "HQ", "HA", "H2"):
        game.step(card)
    assert game.acting == ("player_2",)
    for card in ("S3", "S4", "S2", "SA"):
        game.step(card)
    assert game.taken == [1, 1]
    assert set(game.rewards.values()) == {0.0}
    game = dealt(["HK SA", "HQ S2", "HA S3", "H2 S4"])
    for card in ("HK", "HQ", "HA", "H2", "S3", "S4", "SA", "S2"):
        game.step(card)
    assert game.rewards == {"player_0": 1.0, "player_1": -1.0, "player_2": 1.0, "player_3": -1.0}


def test_nobody_leads_more_often_than_others():
    game, leads = MiniWhist(), dict.fromkeys(SEATS, 0)
    for seed in range(800):
        game.reset(seed=seed)
        leads[game.acting[0]] += 1
    assert all(abs(count - 200) < 60 for count in leads.values())


def test_where_the_cards_decide_all_the_value_is_what_is_known():
    """With two ranks everybody has one card and no choice: over all deals and leads neither side wins more."""
    tree = solve.tree(MiniWhist(2))
    assert set(map(len, (known.legal for known in tree.information))) == {1}
    assert solve.values(tree, solve.uniform(tree)) == pytest.approx(dict.fromkeys(SEATS, MiniWhist.known["value"]))


def play(first, second, seed):
    agents = dict(zip(SEATS, (first, second) * 2, strict=True))
    return asyncio.run(arena.play(arena.make("mini_whist"), agents, seed=seed))


def test_partners_are_one_team_of_a_match_and_rated_together():
    high, random = arena.agent.BotAgent("high"), arena.RandomAgent()
    ratings, rules, returns = Ratings(), arena.make("mini_whist"), []
    for seed in range(120):
        episode = play(high, random, seed)
        assert episode.returns["player_0"] == episode.returns["player_2"]
        match = match_of(episode, rules, id=str(seed))
        assert [len(team) for team in match.teams] == [2, 2]
        ratings.add(match)
        returns.append(episode.returns["player_0"])
    assert sum(returns) > 0
    assert ratings.rating("bot:high").mu > ratings.rating("random").mu


def test_an_uneven_deal_is_refused():
    with pytest.raises(ValueError, match="ranks is 5"):
        MiniWhist(ranks=5)
