"""What each seat may hear in games of hidden information, written down here from the deal and what was said.

`check_game` trusts `Game.knows`. Here `knows` is replaced by the rules as a reader of them would put it, in terms of
the secrets dealt and the words as they were said; whatever a seat hears, is offered or finds in its record must follow
from these alone.
"""

from __future__ import annotations

import pytest

from arena.testing import check_views
from games._words import PROPERTIES
from games.debate import Debate
from games.generator_verifier_refiner import GeneratorVerifierRefiner
from games.mini_whist import SEATS, MiniWhist
from games.prover_verifier import ProverVerifier
from games.taboo import Taboo
from games.twenty_questions import TwentyQuestions
from games.undercover import Undercover


def witnessed(cls, allowed, **params):
    """A maker of the game in which `allowed(game, seat)` is all that a seat may know.

    Beside what was dealt it can read `game.exchange`: the words of each complete stage, by seat, as they came.
    """

    class Witnessed(cls):
        def start(self, rng, task):
            self.latest, self.exchange = {}, []
            return super().start(rng, task)

        def parse(self, seat, text):
            move = super().parse(seat, text)
            self.latest[seat] = text
            return move

        def play(self, moves):
            self.exchange.append({seat: self.latest[seat] for seat in sorted(moves)})
            return super().play(moves)

        def knows(self, seat):
            return allowed(self, seat)

    return lambda: Witnessed(**params)


def stages(game, seats=None):
    """All that was said, or what some seats said, stage by stage."""
    return tuple(
        tuple((s, text) for s, text in stage.items() if seats is None or s in seats) for stage in game.exchange
    )


def whist(game, seat):
    """Its own hand as dealt, and the cards on the table."""
    return game.dealt[seat], stages(game)


def undercover(game, seat):
    """Its own word, all clues, all votes and who is left: not who has the other word, nor which."""
    return game.words[seat], stages(game), game.left


def taboo(game, seat):
    """What was said, and the word for the attacker alone."""
    return game.word if seat == "attacker_0" else "", stages(game)


def twenty_questions(game, seat):
    """The answerer has the word and the properties asked for; the asker its own words and the answers to them."""
    asked = [(s, text) for stage in game.exchange for s, text in stage.items()]
    if seat == "answerer_0":
        return game.word, tuple(text for _, text in asked if not text.startswith("guess"))
    if game.roles.get("answerer"):
        return tuple(asked)
    true = [game.word in PROPERTIES.get(text.removesuffix("?"), ()) for _, text in asked]
    return tuple(zip(asked, true, strict=True))


def debate(heard):
    """The question, its own side where sides are given, and the words of those it is said here to hear."""

    def allowed(game, seat):
        side = game.sides[seat] if seat != "judge_0" and game.pay == "verdict" else ""
        return game.question, side, stages(game, heard[seat])

    return allowed


def prover_verifier(game, seat):
    """The problem; a prover knows which of the two it is, the verifier hears a claim and not whose."""
    claims = tuple(text for stage in game.exchange for text in stage.values())
    return game.task.prompt, tuple(game.task.payload["choices"]), claims if seat == "verifier_0" else ()


def tree(game, seat):
    """The problem, and of what was said only the words right above: of a tree with two branches at each node."""
    role, number = seat.rpartition("_")[::2]
    above = {
        "generator": (),
        "verifier": (f"generator_{int(number) // 2}",),
        "refiner": (f"verifier_{int(number) // 2}", f"generator_{int(number) // 4}"),
    }
    return game.task.prompt, tuple(game.task.payload["choices"]), stages(game, above[role])


def pick(game, seat, rng):
    """A move that is listed: where one isn't, a twin of the game can't say it again, and is soon another game."""
    return rng.choice(game.legal(seat))


def argue(game, seat, rng):
    move = rng.choice(game.legal(seat))
    bare = move in ("right", "wrong") or seat == "judge_0" or rng.random() < 0.7
    return move if bare else f"{move}: because {rng.randint(0, 9)}"


def talk(game, seat, rng):
    """Says something in place of the word, and guesses at times."""
    if seat == "defender_0" and rng.random() < 0.2:
        return f"guess: {rng.choice(('horse', 'tiger', 'apple'))}"
    return f"{rng.choice(('it runs', 'you eat it', 'a hm'))} {rng.randint(0, 9)}"


TWO = dict.fromkeys(("debater_0", "debater_1", "judge_0"), ("debater_0", "debater_1"))
STAR = {
    "debater_0": ("debater_0", "debater_1", "debater_2"),
    "debater_1": ("debater_0", "debater_1"),
    "debater_2": ("debater_0", "debater_2"),
    "judge_0": ("debater_0", "debater_1", "debater_2"),
}
CASES = {
    "mini_whist": (MiniWhist, whist, pick, {}),
    "mini_whist, small": (MiniWhist, whist, pick, {"ranks": 2}),
    "undercover": (Undercover, undercover, pick, {}),
    "taboo": (Taboo, taboo, talk, {}),
    "twenty_questions": (TwentyQuestions, twenty_questions, pick, {"words": 6, "limit": 8}),
    "twenty_questions, alone": (TwentyQuestions, twenty_questions, pick, {"words": 6, "limit": 8, "answerer": False}),
    "debate": (Debate, debate(TWO), argue, {"rounds": 2}),
    "debate, star": (Debate, debate(STAR), argue, {"debaters": 3, "topology": "star", "order": "turns"}),
    "debate, answers": (Debate, debate(STAR), argue, {"debaters": 3, "topology": "star", "pay": "answers"}),
    "prover_verifier": (ProverVerifier, prover_verifier, argue, {}),
    "prover_verifier, sums": (ProverVerifier, prover_verifier, argue, {"kind": "arithmetic", "level": 1}),
    "generator_verifier_refiner": (GeneratorVerifierRefiner, tree, argue, {}),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", CASES)
def test_no_seat_sees_more_than_the_rules_let_it(case):
    cls, allowed, speak, params = CASES[case]
    check_views(witnessed(cls, allowed, **params), 8, speak)


# -- faults of a game that its own `knows` covers up -----------------------------------------------------------------


def told_all(cls):
    """The game, in which each seat that is asked hears the whole position, and `knows` says that it may."""

    class Told(cls):
        def play(self, moves):
            seats = super().play(moves)
            for seat in seats:
                self.tell(self.state_text(), seat)
            return seats

        def knows(self, seat):
            return super().knows(seat), self.state_text()

    return Told


LEAKS = ("mini_whist", "undercover", "taboo", "twenty_questions", "debate, star", "prover_verifier")


@pytest.mark.parametrize("case", [*LEAKS, "generator_verifier_refiner"])
def test_a_leak_that_the_game_declares_as_knowledge_is_found(case):
    cls, allowed, speak, params = CASES[case]
    check_views(lambda: told_all(cls)(**params), 4, speak)  # its own word for it is taken
    with pytest.raises(AssertionError, match="depends on something else"):
        check_views(witnessed(told_all(cls), allowed, **params), 8, speak)


def test_a_whist_player_that_sees_its_partner_is_found():
    class Partners(MiniWhist):
        def _ask(self, seat):
            partner = SEATS[(SEATS.index(seat) + 2) % 4]
            self.tell(f"Partner: {' '.join(self.hands[partner])}", seat)
            return super()._ask(seat)

    with pytest.raises(AssertionError, match="Partner"):
        check_views(witnessed(Partners, whist), 8, pick)


def test_a_verifier_that_hears_who_argues_is_found_after_the_claim():
    class Whispers(ProverVerifier):
        def play(self, moves):
            seats = super().play(moves)
            if seats and self.prover == "sneaky_0":
                self.tell(" ", *seats)
            return seats

    with pytest.raises(AssertionError, match="verifier_0 knows"):
        check_views(witnessed(Whispers, prover_verifier), 8, argue)
