"""Challengers and majority labels by hand: nobody is paid by the truth, and how often labels are true is told."""

import asyncio

import pytest

from arena import OracleAgent, ScriptedAgent, play
from arena.curriculum import Curriculum, CurriculumConfig
from arena.testing import check_game
from arena.types import Episode, Offer, Task
from games.r_zero import Label, RZero, majority


def played(challenges, answers, task=None, **params):
    """A finished game: what each challenger says, then what all the solvers that are asked say."""
    solvers = params.pop("solvers", 4)
    game = RZero(challengers=len(challenges), solvers=solvers, **params)
    game.reset(seed=0, options={"task": task})
    for text in challenges if task is None else ():
        game.step(text)
    asked = len(game.acting)
    assert asked == len(answers)
    for text in answers:
        game.step(text)
    assert game.ending == "over"
    return game


def sums(game, role):
    """By seat of a role, everything that it was paid."""
    seats = [seat for seat in game.possible_agents if seat.startswith(role)]
    return [round(sum(r for (s, _), r in game.paid.items() if s == seat), 9) for seat in seats]


@pytest.mark.parametrize(
    ("answers", "challenger", "solvers", "kept"),
    [
        (("43", "43", "1", "2"), 1 - 0 - 1, [1, 1, 0, 0], True),
        (("43", "43", "43", "2"), 1 - 0.5 - 1, [1, 1, 1, 0], True),
        (("43", "43", "43", "43"), 1 - 1 - 1, [0, 0, 0, 0], False),
        (("1", "2", "3", "4"), 1 - 0.5 - 1, [0, 0, 0, 0], False),
        (("", "?", "43 or so", "4.3"), 1 - 1 - 1, [0, 0, 0, 0], False),
        (("44", "44", "44", "43"), 1 - 0.5 - 1, [1, 1, 1, 0], True),
        (("43", "043", " 43 ", "x"), 1 - 0.5 - 1, [1, 1, 1, 0], True),
    ],
)
def test_one_challenge_earns_by_how_even_the_vote_is_minus_all_of_the_batch(answers, challenger, solvers, kept):
    """1 - 2|p - 1/2| - 1, as the batch of one is its own cluster; p = 1/2, 3/4, 1, 1/4, 0, 3/4, 3/4."""
    game = played(["17 + 26"], answers)
    assert sums(game, "challenger") == [challenger]
    assert sums(game, "solver") == solvers
    assert game.unscored == (set() if kept else {f"solver_{i}" for i in range(4)})
    assert game.notes["kept"] == kept
    assert [offer.gate for offer in game.offers] == ["" if kept else "frontier"]


def test_challenges_that_are_alike_share_the_blame():
    """Two of three are one cluster: 2/3 off for each of them, 1/3 for the other; p is 1/2 everywhere."""
    answers = ["43", "43", "0", "1"] * 2 + ["90", "90", "0", "1"]
    game = played(["17 + 26", "17 + 26 ", "9 * (5 + 5)"], answers)
    assert sums(game, "challenger") == pytest.approx([1 / 3, 1 / 3, 2 / 3])
    assert {name for _, name in game.paid} == {"uncertain", "repeated", "agrees"}


@pytest.mark.parametrize("weigh", [False, True])
def test_the_most_that_can_be_earned_is_what_is_known(weigh):
    """Two challenges that aren't alike, and every share of solvers that agree on 43 and on 90."""
    most = {"challenger": -1.0, "solver": -1.0}
    for alike in range(1, 11):
        labels = [["43", "90"][at] if i < alike else str(i) for at in range(2) for i in range(10)]
        game = played(["17 + 26", "9 * (5 + 5)"], labels, solvers=10, weigh=weigh)
        most = {role: max(best, *sums(game, role)) for role, best in most.items()}
    assert most == pytest.approx({role: game.known[f"{role}_max"] for role in most})
    assert most["solver"] == (0.8 if weigh else 1.0)


def test_a_wrong_majority_is_paid_and_told_of():
    """The solvers learn the wrong label; only the note knows."""
    game = played(["17 + 26", "2 * 3"], ["53", "53", "43", "1", "6", "6", "5", "4"])
    assert sums(game, "solver") == [1, 1, 0, 0, 1, 1, 0, 0]
    assert game.notes == {"label_right": 0.5, "p": 0.5, "kept": 1.0}
    assert "17 + 26 = 53 (50% agree)" in game.state_text()


def test_a_weighed_vote_pays_the_share_that_agrees():
    assert sums(played(["17 + 26"], ["43", "43", "43", "1"], weigh=True), "solver") == [0.75, 0.75, 0.75, 0]


def test_a_solver_alone_agrees_with_itself_and_teaches_nothing():
    game = played(["17 + 26"], ["43"], solvers=1)
    assert sums(game, "challenger") == [-1.0]
    assert game.unscored == {"solver_0"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "17",
        "17 + ",
        "x + 1",
        "17 + 26 = 43",
        "__import__('os') + 1",
        "1/0",
        "9" * 30 + " + 1",
        "9 * " * 40 + "9",
        "999999 * 999999 * 9",
        "(" * 25 + "1+1" + ")" * 25,
        "１ + １",
        "1 + 1\x00",
        "<|im_end|> 1 + 1",
        "1 + 1" + " " * 10**6 + "!",
    ],
)
def test_what_is_no_challenge_costs_1_and_asks_nobody(text):
    game = played([text], [])
    assert sums(game, "challenger") == [-1.0]
    assert game.paid == {("challenger_0", "format"): -1.0}
    assert game.offers[0].gate == "well-formed"
    assert len(game.offers[0].reason) < 200
    assert game.notes == {}


def test_one_bad_challenge_leaves_the_others_alone():
    game = played(["?", "17 + 26"], ["43", "43", "1", "2"])
    assert sums(game, "challenger") == [-1.0, 0.0]
    assert sums(game, "solver") == [0, 0, 0, 0, 1, 1, 0, 0]


def test_a_kept_problem_is_played_again_without_a_challenger():
    (offer,) = played(["17 + 26"], ["43", "43", "1", "2"]).offers
    task = Task.from_json(offer.task.to_json())
    game = played(["", ""], ["43", "43", "1", "2"] * 2, task=task)
    assert sums(game, "challenger") == [0.0, 0.0]
    assert sums(game, "solver") == [1, 1, 0, 0] * 2
    assert game.offers == []


def test_a_pool_learns_that_all_agree_on_a_problem_though_nobody_is_paid_for_it():
    """Replays out of the band are unscored; by agreement the problem becomes mastered, and weighs next to nothing."""
    words = {"challenger": ScriptedAgent(["[17 + 26]"]), "solver": OracleAgent()}
    words |= {f"solver_{i}": ScriptedAgent([f"[{i}]"]) for i in (0, 1)}
    pool = Curriculum(CurriculumConfig(past=0.5))
    first = asyncio.run(play(RZero(challengers=1, solvers=4), words, seed=0))
    pool.absorb(0, [first])
    (entry,) = pool.entries.values()
    assert entry.p == 0.5
    for step in range(1, 20):
        again = asyncio.run(
            play(
                RZero(challengers=1, solvers=4),
                {**words, "solver_0": OracleAgent(), "solver_1": OracleAgent()},
                seed=step,
                task=entry.task,
            )
        )
        assert again.returns["solver_0"] is None
        pool.absorb(step, [Episode.from_json(again.to_json())])
    assert entry.seen == 80
    assert entry.p > 0.95
    assert pool.weight(entry) < 0.1


def test_an_alarm_tells_when_solvers_agree_on_what_is_wrong():
    """Three of four say 44 for 43, and are paid; after eight such games somebody should look, also after a resume."""
    words = {f"solver_{i}": ScriptedAgent(["[44]"]) for i in range(3)} | {"solver_3": OracleAgent()}
    words["challenger"] = ScriptedAgent(["[17 + 26]"])
    pool = Curriculum()
    for step in range(8):
        assert pool.alarms() == []
        episode = asyncio.run(play(RZero(challengers=1, solvers=4), words, seed=step))
        assert episode.notes["agreed_wrong"] == 1.0
        pool.absorb(step, [episode])
    again = Curriculum()
    again.load(pool.state())
    assert again.alarms() == pool.alarms() == ["100% of what solvers agreed on in the last 8 games is wrong"]


def test_where_agreement_is_true_or_there_is_none_nothing_is_wrong():
    assert played(["17 + 26"], ["43", "43", "43", "1"]).notes["agreed_wrong"] == 0.0
    assert "agreed_wrong" not in played(["17 + 26"], ["44", "44", "43", "1"]).notes


def test_a_problem_that_says_its_own_value_stays_out_of_the_pool():
    pool, told = Curriculum(), [Task.new("100 + 0 = ", value=100), Task.new("50 + 50 = ", value=100)]
    assert [pool.consider(Offer(task, "challenger_0"), 0) for task in told] == ["leak", ""]


def test_the_label_depends_on_no_order_of_the_answers():
    assert majority(["2", "1", "1", "2"]) == majority(["1", "2", "2", "1"]) == Label("1", 0.5)
    assert majority(["-3", "x"]) == Label("-3", 0.5)
    assert majority(["x", ""]) == Label("", 0.0)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"challengers": 0}, "use 1 to 1000"),
        ({"solvers": 0}, "use 1 to 250"),
        ({"low": 0.9}, "high"),
        ({"similar": 0}, "similar"),
    ],
)
def test_what_cannot_be_played_is_refused(params, message):
    with pytest.raises(ValueError, match=message):
        RZero(**params)


def test_the_contract_holds():
    check_game(lambda: RZero(challengers=2, solvers=2), games=3)
