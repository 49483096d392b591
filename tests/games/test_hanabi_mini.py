"""Hanabi: what hints tell and hide, what is paid, when it ends, and that OpenSpiel plays the same game."""

import random
import statistics

import pytest

from arena.make import make
from arena.testing import check_game
from games.hanabi_mini import COLOURS, DECK, HAND, HINTS, LIVES, RANKS, Card, HanabiMini, Held, careful


def dealt(*hands, deck=("red 3",) * 6, **public):
    """A game in which the seats hold these cards, such as "red 1, blue 2", and the deck has those."""
    game = HanabiMini(seats=len(hands))
    game.reset(seed=0)
    for seat, hand in zip(game.hands, hands, strict=True):
        game.hands[seat] = [Held(Card(*card.split())) for card in hand.split(", ")]
    game.deck = [Card(*card.split()) for card in deck]
    for name, value in public.items():
        setattr(game, name, value)
    first = game.possible_agents[0]
    game._heard[first].clear()
    game._ask(first)
    return game


def said(game, seat):
    return game.observe(seat)["text"].splitlines()[-1]


def test_a_seat_sees_all_cards_but_its_own():
    game = dealt("red 1, blue 2", "red 2, blue 1")
    assert said(game, "player_0") == (
        "Table: red 0, blue 0. Discards: none. Hints: 3. Lives: 2. Deck: 6. "
        "player_1 holds red 2 (knows red/blue 1/2/3), blue 1 (knows red/blue 1/2/3). "
        "You know of yours: red/blue 1/2/3, red/blue 1/2/3. Actions: [play 1] [play 2] "
        "[hint player_1 red] [hint player_1 blue] [hint player_1 1] [hint player_1 2]"
    )


def test_a_hint_tells_which_cards_it_touches_and_so_which_it_does_not():
    game = dealt("red 1, blue 2", "red 2, blue 1")
    game.step("hint player_1 2")
    assert game.hints == HINTS - 1
    assert "player_0 hints player_1 2: card 1." in game.observe("player_1")["text"]
    assert "You know of yours: red/blue 2, red/blue 1/3. Actions" in said(game, "player_1")
    game.step("hint player_0 red")
    assert "(knows red/blue 2), blue 1 (knows red/blue 1/3). You know of yours: red 1/2/3, blue 1/2/3." in said(
        game, "player_0"
    )


def test_a_hint_must_touch_something_and_costs_what_a_discard_gives_back():
    game = dealt("red 1, blue 2", "red 2, red 1")
    assert "hint player_1 blue" not in game.legal("player_0")
    assert not any(move.startswith("discard") for move in game.legal("player_0"))
    for move in ("hint player_1 red", "hint player_0 red", "hint player_1 1"):
        game.step(move)
    assert not any(move.startswith("hint") for move in game.legal("player_1"))
    game.step("discard 1")
    assert (game.hints, game.discards) == (1, [Card("red", "2")])


def test_cards_that_fit_pay_one_each_and_a_finished_colour_gives_a_hint_back():
    game = dealt("red 1, red 2", "red 2, red 3", hints=0)
    for move, height in (("play 1", 1), ("play 1", 2)):
        game.step(move)
        assert game.rewards == {"player_0": 1.0, "player_1": 1.0}
        assert game.table == {"red": height, "blue": 0}
    assert game.hints == 0
    game.step("play 2")  # drawn from the deck of threes
    assert (game.table["red"], game.hints) == (3, 1)


def test_the_second_card_that_does_not_fit_loses_all_that_was_earned():
    game = dealt("red 1, red 3", "blue 3, blue 2")
    game.step("play 1")
    game.step("play 1")
    assert (game.lives, game.rewards["player_0"], game.ending) == (1, 0.0, "")
    game.step("play 1")
    assert game.rewards == {"player_0": -1.0, "player_1": -1.0}
    assert game.ending == "over"


def test_everybody_has_one_more_turn_after_the_last_draw():
    game = dealt("red 1, red 3", "blue 3, blue 2", deck=["blue 1"])
    game.step("play 1")
    assert game.deck == []
    game.step("hint player_0 blue")
    assert game.ending == ""
    game.step("play 2")
    assert game.ending == "over"


def test_the_bot_reads_nothing_that_its_seat_does_not_see():
    """Its own cards are swapped for any others of the deck that the hints allow: it does the same."""
    rng = random.Random(0)
    for seed in range(40):
        game = HanabiMini(seats=2 + seed % 2)
        game.reset(seed=seed)
        while game.acting:
            seat = game.agent_selection
            chosen, own = careful(game, seat), game.hands[seat]
            game.hands[seat] = [h._replace(card=Card(rng.choice(h.colours), rng.choice(h.ranks))) for h in own]
            assert careful(game, seat) == chosen
            game.hands[seat] = own
            game.step(max(chosen, key=chosen.get))


# Over 2,000 deals: 5.16 with two seats, 4.97 with three, never a lost game; random play has about 0.5.
@pytest.mark.parametrize(("seats", "mean"), [(2, 5.16), (3, 4.97)])
def test_the_bot_scores_what_the_docs_say(seats, mean):
    scores = []
    for seed in range(200):
        game, score = HanabiMini(seats), 0.0
        game.reset(seed=seed)
        while game.acting:
            chosen = careful(game, game.agent_selection)
            game.step(max(chosen, key=chosen.get))
            score += game.rewards["player_0"]
        scores.append(score)
    assert statistics.fmean(scores) == pytest.approx(mean, abs=0.2)  # over three standard errors
    assert min(scores) > 0
    assert max(scores) == HanabiMini.known["best"]


def test_all_cards_on_the_table_are_the_best_that_is_known():
    """Six of them, 1 to 3 of two colours, for 1 each: no card fits a colour that is finished."""
    assert HanabiMini.known["best"] == len(COLOURS) * len(set(RANKS)) * 1.0


def test_other_numbers_of_seats_are_refused():
    with pytest.raises(ValueError, match="seats is 5: use 2 or 3"):
        HanabiMini(seats=5)


@pytest.mark.parametrize("seats", [2, 3])
def test_open_spiel_plays_the_same_game(seats):
    """Moves and deals of random games and of the bot's are put to its Hanabi: legal moves, score and end agree."""
    pyspiel = pytest.importorskip("pyspiel")
    theirs = pyspiel.load_game(
        "hanabi",
        {
            **{"players": seats, "colors": len(COLOURS), "ranks": len(RANKS), "hand_size": HAND},
            **{"max_information_tokens": HINTS, "max_life_tokens": LIVES},
        },
    )
    colours = dict(zip(COLOURS, "RY", strict=True))

    def put(card):
        """Let their chance draw our card."""
        names = {state.action_to_string(action): action for action, _ in state.chance_outcomes()}
        state.apply_action(names[f"(Deal {colours[card.colour]}{card.rank})"])

    def worded(seat, action):
        """Their move in our words."""
        verb, *words = state.action_to_string(action).strip("()").split()
        if verb != "Reveal":
            return f"{verb.lower()} {int(words[0]) + 1}"
        other = game.others(seat)[int(words[1]) - 1]
        return f"hint {other} {dict(zip('RY', COLOURS, strict=True)).get(words[3], words[3])}"

    rng = random.Random(seats)
    for seed in range(60):
        game, score = HanabiMini(seats), 0.0
        game.reset(seed=seed)
        state = theirs.new_initial_state()
        for seat in game.possible_agents:
            for held in game.hands[seat]:
                put(held.card)
        while game.acting:
            seat = game.agent_selection
            legal = {worded(seat, action): action for action in state.legal_actions()}
            assert set(legal) == set(game.legal(seat))
            chosen = careful(game, seat)
            move = max(chosen, key=chosen.get) if rng.random() < seed / 40 else rng.choice(game.legal(seat))
            draws = bool(game.deck) and not move.startswith("hint")
            state.apply_action(legal[move])
            game.step(move)
            score += game.rewards[seat]
            if draws and state.is_chance_node():
                put(game.hands[seat][-1].card)
        assert state.is_terminal()
        assert state.returns() == [score] * seats


def test_the_deck_has_twelve_cards_in_the_proportions_of_the_big_one():
    assert len(DECK) == 12
    assert [DECK.count(Card("blue", rank)) for rank in RANKS] == [3, 2, 1]


def test_the_game_keeps_the_contract_in_its_other_size():
    check_game(lambda: make("hanabi_mini(seats=3)"), games=4)
