"""Kuhn poker pays what the rules say, for every deal and line."""

import pytest

from arena import solve
from arena.make import make
from arena.testing import check_game
from games.kuhn_poker import KuhnPoker

HIGHER = {("J", "Q"): -1, ("J", "K"): -1, ("Q", "J"): 1, ("Q", "K"): -1, ("K", "J"): 1, ("K", "Q"): 1}
PAYS = {  # chips of the first seat; w is 1 if its card is the higher one, else -1
    ("check", "check"): lambda w: w,
    ("check", "bet", "fold"): lambda w: -1,
    ("check", "bet", "call"): lambda w: 2 * w,
    ("bet", "fold"): lambda w: 1,
    ("bet", "call"): lambda w: 2 * w,
}


def dealt(cards):
    game = KuhnPoker()
    for seed in range(1000):
        game.reset(seed=seed)
        if tuple(game.card.values()) == cards:
            return game
    raise AssertionError(f"{cards} was never dealt")


@pytest.mark.parametrize("cards", HIGHER)
@pytest.mark.parametrize("line", PAYS)
def test_every_line_of_every_deal_pays_its_chips(cards, line):
    game = dealt(cards)
    for move in line:
        assert move in game.legal(game.agent_selection)
        game.step(move)
    chips = PAYS[line](HIGHER[cards])
    assert game.rewards == {"first_0": chips, "second_0": -chips}
    assert game.ending == "over"


def test_a_seat_hears_its_own_card_the_line_and_its_actions_every_time():
    game = dealt(("Q", "K"))
    assert game.observe("first_0")["text"] == "Card: Q. Moves: none. Actions: [check] [bet]"
    game.step("check")
    assert game.observe("second_0")["text"] == "Card: K. Moves: check. Actions: [check] [bet]"
    game.step("bet")
    assert game.observe("first_0")["text"] == "Card: Q. Moves: check, bet. Actions: [fold] [call]"


def test_cards_are_shown_at_a_showdown_only():
    game = dealt(("Q", "K"))
    game.step("bet")
    game.step("fold")
    assert game.observe("first_0")["text"] == "Moves: bet, fold. first_0 wins 1."
    game = dealt(("Q", "K"))
    game.step("bet")
    game.step("call")
    assert game.observe("first_0")["text"] == "Moves: bet, call. Cards: Q, K. second_0 wins 2."


def test_an_illegal_reply_loses_two_chips_at_once():
    game = dealt(("Q", "K"))
    game.step("fold")
    assert game.rewards == {"first_0": -2.0, "second_0": 2.0}
    assert game.ending == "forfeit"


def test_all_six_deals_come_equally_often():
    game, seen = make("kuhn_poker"), {}
    for seed in range(3000):
        game.reset(seed=seed)
        cards = "".join(game.card.values())
        seen[cards] = seen.get(cards, 0) + 1
    assert len(seen) == 6
    assert all(abs(count - 500) < 90 for count in seen.values())  # over four standard deviations


def three(cards):
    game = KuhnPoker(seats=3)
    game.reset(seed=0)
    game.card.update(zip(game.card, cards, strict=True))
    return game


@pytest.mark.parametrize(
    ("line", "pays", "end"),
    [
        ("check check check", (-1, -1, 2), "Cards: Q, J, A. third_0 wins 2."),
        ("check check bet fold fold", (-1, -1, 2), "third_0 wins 2."),
        ("check check bet call fold", (-2, -1, 3), "Cards: Q, ?, A. third_0 wins 3."),
        ("check bet fold call", (2 + 1, -2, -1), "Cards: Q, J, ?. first_0 wins 3."),
        ("bet call call", (-2, -2, 4), "Cards: Q, J, A. third_0 wins 4."),
        ("bet fold fold", (2, -1, -1), "first_0 wins 2."),
        ("bet call fold", (3, -2, -1), "Cards: Q, J, ?. first_0 wins 3."),
    ],
)
def test_three_seats_bet_in_turn_and_a_folded_card_is_never_shown(line, pays, end):
    game = three("QJA")
    for move in line.split():
        game.step(move)
    assert game.ending == "over"
    assert tuple(game.rewards.values()) == pays
    for seat in game.agents:
        assert game.observe(seat)["text"] == f"Moves: {line.replace(' ', ', ')}. {end}"


def test_the_third_seat_is_asked_in_the_words_of_two():
    game = three("QJA")
    game.step("check")
    game.step("bet")
    assert game.agent_selection == "third_0"
    assert game.observe("third_0")["text"] == "Card: A. Moves: check, bet. Actions: [fold] [call]"


def test_no_seat_of_three_gains_by_leaving_the_equilibrium_and_a_bluff_too_many_is_seen():
    tree = solve.tree(KuhnPoker(seats=3))
    perfect = solve.oracle_policy(tree)
    assert solve.nash_conv(tree, perfect) == pytest.approx(0, abs=1e-12)
    jack = {known: (0.9, 0.1) for known in perfect if known.heard[-1].startswith("Card: J. Moves: none")}
    assert solve.nash_conv(tree, {**perfect, **jack}) > 0.01


def test_other_numbers_of_seats_are_refused():
    with pytest.raises(ValueError, match="seats is 4: use 2 or 3"):
        KuhnPoker(seats=4)


def test_the_game_keeps_the_contract_in_its_other_size():
    check_game(lambda: make("kuhn_poker(seats=3)"), games=4)
