"""Our solver and OpenSpiel's say the same of the same policies, to the sixth decimal."""

import random

import pytest

from arena import solve
from arena.equilibrium import equilibrium
from games.kuhn_poker import CARDS, SEATS, KuhnPoker
from games.leduc_poker import DECK, LeducPoker
from games.leduc_poker import lines as leduc_lines
from games.liars_dice import LiarsDice, ladder
from games.tiny_hanabi import CARDS as TINY_CARDS
from games.tiny_hanabi import MOVES, TinyHanabi, rewards

pyspiel = pytest.importorskip("pyspiel")


# What our seat knows where OpenSpiel's numbered history (deals first) has come; as `Game.knows` has it.


def kuhn(history, player, seats):
    bets = history[seats:]
    told = [("fold", "call")[bet] if 1 in bets[:i] else ("check", "bet")[bet] for i, bet in enumerate(bets)]
    return CARDS[history[player]], ", ".join(told) or "none"


def leduc(history, player, _):
    line, opened = "none", "none"
    for number in history[2:]:
        node = leduc_lines()[line]
        if node.second and opened == "none":
            opened = DECK[number]
        else:
            passive = "call" if "call" in node.next else "check"
            line = node.next[("fold", passive, "raise")[number]]
    return DECK[history[player]], opened, line


def dice(history, player, sides):
    return (history[player] + 1,), tuple(ladder(sides, 2)[bid] for bid in history[2:]), ()


def tiny(history, player, _):
    return history[player], "".join(MOVES[move] for move in history[2:])


def tiny_name(table):
    cards = range(TINY_CARDS[table])
    rows = [row for one in cards for two in cards for row in rewards(table, one, two)]
    payoff = ";".join(str(int(reward)) for row in rows for reward in row)
    return f"tiny_hanabi(num_actions={len(rows[0])},num_chance={len(cards)},num_players=2,payoff={payoff})"


PAIRS = [
    (KuhnPoker(), "kuhn_poker", kuhn, 2),
    (KuhnPoker(seats=3), "kuhn_poker(players=3)", kuhn, 3),
    (LiarsDice(sides=3), "liars_dice(dice_sides=3)", dice, 3),
    *((TinyHanabi(table), tiny_name(table), tiny, table) for table in "ABCDEF"),
    pytest.param(LiarsDice(sides=4), "liars_dice(dice_sides=4)", dice, 4, marks=pytest.mark.slow),
    pytest.param(LeducPoker(), "leduc_poker", leduc, 0, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("ours", "name", "knows", "size"), PAIRS)
def test_values_and_nash_conv_are_those_of_openspiel(ours, name, knows, size):
    """For uniform and random play, and for the equilibrium where there are two seats against each other."""
    from open_spiel.python import policy as spiel
    from open_spiel.python.algorithms import expected_game_score, exploitability

    tree, theirs = solve.tree(ours), pyspiel.load_game(name)
    table, rng = spiel.TabularPolicy(theirs), random.Random(0)
    assert len(table.states) == len(tree.information)
    policies = [solve.uniform(tree), dict(zip(tree.information, random_rows(tree, rng), strict=True))]
    if ours.info.zero_sum and len(tree.seats) == 2:
        policies.append(equilibrium(tree))
    for policy in policies:
        odds = solve.by_knowledge(tree, policy)
        for state in table.states:
            player = state.current_player()
            row = odds[SEATS[player], knows(state.history(), player, size)]
            at = table.state_index(state)
            table.action_probability_array[at, state.legal_actions()] = list(row.values())
        values = expected_game_score.policy_value(theirs.new_initial_state(), [table] * len(tree.seats))
        assert list(solve.values(tree, policy).values()) == pytest.approx(list(values), abs=1e-6)
        gap = exploitability.nash_conv(theirs, table, use_cpp_br=False)
        assert solve.nash_conv(tree, policy) == pytest.approx(gap, abs=1e-6)
    if ours.info.zero_sum and len(tree.seats) == 2:
        assert gap == pytest.approx(0, abs=1e-6)


def random_rows(tree, rng):
    for known in tree.information:
        row = [rng.random() ** 3 for _ in known.legal]
        yield tuple(p / sum(row) for p in row)


def test_the_default_table_of_tiny_hanabi_is_theirs():
    payoff = pyspiel.load_game("tiny_hanabi").get_parameters()["payoff"]
    assert tiny_name("E") == f"tiny_hanabi(num_actions=3,num_chance=2,num_players=2,payoff={payoff})"
