"""A step's metrics name what was paid for, and hold what the games note of themselves."""

import asyncio

import arena
from arena.game import Game
from trainers.figures import figures


class Quiz(Game):
    """One writer, two readers; readers earn 1 for `yes`, the writer loses half a point for every `no`."""

    roles = {"writer": 1, "reader": 2}

    def start(self, rng, task):
        return ("reader_0", "reader_1")

    def legal(self, seat):
        return ("yes", "no")

    def play(self, moves):
        for seat, move in moves.items():
            self.score("right" if move == "yes" else "wrong", **({seat: 1.0} if move == "yes" else {"writer_0": -0.5}))
        self.note(agreed=float(len(set(moves.values())) == 1))
        return ()


def played(one, two):
    agents = {name: arena.ScriptedAgent([word] * 2) for name, word in (("reader_0", one), ("reader_1", two))}
    return asyncio.run(arena.play(Quiz(), {"writer": arena.RandomAgent(), **agents}, seed=0))


def test_rewards_are_means_over_all_seats_of_a_role_and_notes_over_episodes():
    found = figures([played("[yes]", "[no]"), played("[no]", "[no]")])
    assert found == {"reward/reader/right": 0.25, "reward/writer/wrong": -0.75, "game/agreed": 0.5}


def test_what_an_episode_was_paid_sums_to_its_returns_and_survives_json():
    episode = played("[yes]", "[no]")
    assert {seat: sum(episode.paid[seat].values()) for seat in episode.returns} == episode.returns
    again = arena.Episode.from_json(episode.to_json())
    assert (again.paid, again.notes) == (episode.paid, episode.notes)


def test_a_forfeit_is_named_too():
    episode = played("[maybe]", "[no]")
    assert episode.ending == "forfeit"
    assert episode.paid == {"reader_0": {"forfeit": -1.0}, "reader_1": {}, "writer_0": {}}


def test_an_episode_that_could_not_be_scored_says_nothing():
    silent = asyncio.run(arena.play(Quiz(), {"writer": arena.RandomAgent(), "reader": arena.ScriptedAgent([])}, seed=0))
    assert silent.ending == "infra"
    assert figures([silent]) == {}
