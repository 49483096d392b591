"""A pool of tasks lets in what is new and honest, knows how hard it is, and asks for what can be learned from."""

import json
import random
from collections import Counter
from dataclasses import replace

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena import clusters
from arena.clusters import grams, likeness
from arena.config import ConfigError
from arena.curriculum import WINDOW, Curriculum, CurriculumConfig, quality
from arena.leak import leaks
from arena.types import Episode, Offer, Task

AUTHOR = "proposer_0"


def sum_of(a, b, parents=()):
    return Task.new(f"{a} + {b} = ", answer=a + b, parents=parents, author=AUTHOR)


def episode(task=None, returns=(), offers=(), ending="over", role="solver"):
    """Solvers with these returns face `task`."""
    seats = [f"{role}_{i}" for i in range(len(returns))]
    return Episode(
        id="e", game="sums", seed=0, task=task, agents={}, faced=dict.fromkeys(seats, task.id if task else ""),
        turns=(), contexts={}, returns=dict(zip(seats, returns, strict=True)), ending=ending, offers=tuple(offers),
    )  # fmt: skip


def pool(tasks=(), **config):
    curriculum = Curriculum(CurriculumConfig(**{"cluster_share": 1.0, **config}))
    for step, task in enumerate(tasks):
        assert curriculum.consider(Offer(task, AUTHOR), step) == ""
    return curriculum


def played(curriculum, task, right, wrong, step=0):
    curriculum.absorb(step, [episode(task, [1.0] * right + [-0.5] * wrong)])
    return curriculum.entries[task.id]


# -- the gates -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "gate"),
    [
        (Task.new("  \n"), "empty"),
        (Task.new("What is 12 * 12? (It is 144.)", answer=144), "leak"),
        (Task.new("12 + 34 = 46", answer=46), "leak"),
        (Task.new("The answer: 7", answer=7), "leak"),
        (Task.new("def f(x): return 7 * x\nf(1) = ", answer=7), ""),
        (Task.new("What is the fifth prime?", answer=11), ""),
    ],
)
def test_a_task_is_refused_by_the_first_gate_that_it_fails(task, gate):
    assert pool().consider(Offer(task, AUTHOR), 0) == gate


def test_the_gates_of_the_game_come_first_and_their_reason_is_kept():
    curriculum = pool()
    assert curriculum.consider(Offer(Task.new(""), AUTHOR, "executes", "ZeroDivisionError"), 3) == "executes"
    (entry,) = curriculum.refused
    assert (entry.state, entry.gate, entry.reason, entry.step) == ("refused", "executes", "ZeroDivisionError", 3)
    assert not curriculum.entries


def test_a_duplicate_is_one_in_whatever_spelling_and_even_when_its_twin_has_retired():
    curriculum = pool([Task.new("Sort THE  list")])
    assert curriculum.consider(Offer(Task.new("sort the list "), AUTHOR), 1) == "duplicate"
    next(iter(curriculum.entries.values())).state = "retired"
    assert curriculum.consider(Offer(Task.new("Sort the\nlist"), AUTHOR), 2) == "duplicate"


def test_the_game_may_say_what_makes_two_tasks_the_same():
    def sorted_operands(task):
        return " + ".join(sorted(task.prompt.removesuffix(" = ").split(" + ")))

    curriculum = Curriculum(canon=sorted_operands)
    assert curriculum.consider(Offer(sum_of(12, 34), AUTHOR), 0) == ""
    assert curriculum.consider(Offer(sum_of(34, 12), AUTHOR), 0) == "duplicate"


def test_one_cluster_can_not_fill_the_pool():
    curriculum = pool([sum_of(11 * i, 97 - 7 * i) for i in range(1, 9)], cluster_share=0.25)
    same = "Compute the sum of the first {} odd numbers, then take the root"
    gates = [curriculum.consider(Offer(Task.new(same.format(n)), AUTHOR), 1) for n in range(10, 30)]
    clusters = Counter(entry.cluster for entry in curriculum.live())
    assert "cluster" in gates
    assert max(clusters.values()) <= 0.25 * len(curriculum.live()) + 1


letters = st.text("ab ", min_size=1, max_size=8)


@given(st.lists(letters, max_size=40), st.sampled_from([0.3, 0.5, 0.8, 1.0]), st.sampled_from([0.1, 0.25, 1.0]))
def test_gates_say_what_they_would_if_every_leader_were_asked_in_turn(texts, similar, share):
    """The rule in plain words, without an index: the first leader that is like it, in the order in which they came."""
    curriculum = Curriculum(CurriculumConfig(similar=similar, cluster_share=share))
    leaders, sizes, forms = {}, Counter(), set()
    for text in texts:
        own, form = grams(text), " ".join(text.split())
        cluster = next((name for name, other in leaders.items() if likeness(own, other) >= similar), "")
        full = sizes[cluster] > 1 and sizes[cluster] + 1 > share * (sizes.total() + 1)
        gate = "empty" if not form else "duplicate" if form in forms else "cluster" if full else ""
        task = Task.new(text)
        assert curriculum.consider(Offer(task, AUTHOR), 0) == gate
        if not gate:
            leaders.setdefault(cluster or task.id, own)
            assert curriculum.entries[task.id].cluster == (cluster or task.id)
            sizes[cluster or task.id] += 1
            forms.add(form)


def test_what_a_proposal_costs_does_not_grow_with_the_pool(monkeypatch):
    """600 sums of one length, no two alike: asking every leader would take 180,000 comparisons."""
    asked = Counter()
    monkeypatch.setattr(clusters, "likeness", lambda one, two: asked.update("x") or likeness(one, two))
    rng = random.Random(0)
    pairs = {(rng.randint(10**5, 10**6 - 1), rng.randint(10**5, 10**6 - 1)) for _ in range(600)}
    curriculum = pool([sum_of(a, b) for a, b in sorted(pairs)], capacity=10**6)
    assert len(curriculum.live()) == len(pairs)
    assert asked.total() < 20 * len(pairs)


# -- how hard a task is --------------------------------------------------------------------------------------------


def test_p_is_the_share_of_right_answers_and_recent_ones_count_more():
    task = sum_of(12, 34)
    curriculum = pool([task], fade=0.5)
    assert played(curriculum, task, 1, 3).p == 0.25
    assert played(curriculum, task, 4, 0).p == pytest.approx((0.5 * 1 + 4) / (0.5 * 4 + 4))
    assert curriculum.entries[task.id].seen == 8


@pytest.mark.parametrize(("ending", "returns"), [("infra", [1.0]), ("cut_off", [1.0]), ("over", [None])])
def test_what_could_not_be_scored_says_nothing_of_a_task(ending, returns):
    task = sum_of(12, 34)
    curriculum = pool([task])
    curriculum.absorb(0, [episode(task, returns, ending=ending)])
    assert curriculum.entries[task.id].p is None


def test_only_solvers_are_counted():
    task = sum_of(12, 34)
    curriculum = pool([task])
    curriculum.absorb(0, [episode(task, [1.0, 1.0], role="judge")])
    assert curriculum.entries[task.id].seen == 0


def test_a_task_is_active_once_its_p_can_be_trusted():
    task = sum_of(12, 34)
    curriculum = pool([task], samples=8)
    assert played(curriculum, task, 4, 3).state == "admitted"
    assert played(curriculum, task, 1, 0).state == "active"


def test_a_task_proposed_and_solved_in_one_episode_is_known_at_once():
    task = sum_of(12, 34)
    curriculum = pool()
    figures = curriculum.absorb(0, [replace(episode(task, [1.0, 0.0]), offers=(Offer(task, AUTHOR),))])
    assert curriculum.entries[task.id].p == 0.5
    assert figures["curriculum/p"] == 0.5


def test_how_hard_a_task_was_when_it_was_new_is_kept_and_told_of_the_step():
    """Half right is worth 4/4, a quarter 3/4; tasks of earlier steps don't count, nor does what they became."""
    curriculum, hard, even = pool(), sum_of(97, 98), sum_of(12, 13)
    offered = [
        episode(task, [1.0] * right + [0.0] * (4 - right), [Offer(task, AUTHOR)])
        for task, right in ((hard, 1), (even, 2))
    ]
    assert curriculum.absorb(0, offered)["curriculum/learnable"] == (0.75 + 1.0) / 2
    played(curriculum, hard, right=4, wrong=0, step=1)
    assert curriculum.entries[hard.id].first == 0.25
    again = curriculum.absorb(2, [episode(even, [1.0] * 4), episode(None, [], [Offer(sum_of(1, 2), AUTHOR)])])
    assert "curriculum/learnable" not in again


def test_solvers_who_win_more_are_rated_over_the_task():
    easy, hard = sum_of(12, 34), sum_of(56, 78)
    curriculum = pool([easy, hard])
    for _ in range(20):
        played(curriculum, easy, 4, 0)
        played(curriculum, hard, 0, 4)
    assert curriculum.entries[easy.id].mu < curriculum.skill[0] < curriculum.entries[hard.id].mu
    assert all(entry.sigma < 25 / 3 for entry in curriculum.entries.values())


# -- which one is next ---------------------------------------------------------------------------------------------


def drawn(curriculum, times=4000):
    rng = random.Random(0)
    counts = Counter(curriculum.choose(1, rng)[0].id for _ in range(times))
    return {id: counts[id] / times for id in curriculum.entries}


def test_learnability_draws_in_proportion_to_4p_1_minus_p_with_a_floor():
    tasks = [sum_of(10 + i, 90 - i) for i in range(4)]
    curriculum = pool(tasks, samples=4, floor=0.1)
    for task, right in zip(tasks, (0, 1, 2, 4), strict=True):
        played(curriculum, task, right, 4 - right)
    weights = [0.1, 0.75, 1.0, 0.1]
    for task, weight in zip(tasks, weights, strict=True):
        assert drawn(curriculum)[task.id] == pytest.approx(weight / sum(weights), abs=0.03)


def test_the_frontier_is_a_band_and_what_is_not_known_yet_is_always_wanted():
    tasks = [sum_of(10 + i, 90 - i) for i in range(4)]
    curriculum = pool(tasks, choice="frontier", samples=4, floor=0.0, low=0.3, high=0.8)
    for task, right in zip(tasks, (0, 2, 4), strict=False):
        played(curriculum, task, right, 4 - right)
    assert [curriculum.weight(entry) for entry in curriculum.entries.values()] == [0.0, 1.0, 0.0, 1.0]


def test_quality_prefers_the_task_whose_rating_is_nearest():
    assert quality((25, 1), (25, 1)) > quality((25, 1), (30, 1)) > quality((25, 1), (40, 1)) > 0
    assert quality((25, 0), (25, 0)) == 1


def test_a_choice_has_no_task_twice_and_no_more_than_there_are():
    tasks = [sum_of(10 + i, 90 - i) for i in range(5)]
    curriculum = pool(tasks)
    chosen = curriculum.choose(9, random.Random(1), excluding={tasks[0].id})
    assert sorted(task.id for task in chosen) == sorted(task.id for task in tasks[1:])


# -- the ring ------------------------------------------------------------------------------------------------------


def test_a_full_pool_lets_in_the_next_one_and_retires_the_mastered_first():
    tasks = [sum_of(10 + i, 90 - i) for i in range(4)]
    curriculum = pool(tasks[:3], capacity=3, samples=4)
    played(curriculum, tasks[1], 0, 4)
    played(curriculum, tasks[2], 4, 0)
    left = []
    for i in range(3):
        curriculum.consider(Offer(sum_of(11 + i, 70 + i), AUTHOR), 5)
        left += [(e.task.id, e.reason) for e in curriculum.entries.values() if e.state == "retired" and
                 e.task.id not in [id for id, _ in left]]  # fmt: skip
    assert left == [(tasks[2].id, "mastered"), (tasks[1].id, "never solved"), (tasks[0].id, "oldest")]
    assert len(curriculum.live()) == 3


def test_the_pool_never_freezes():
    curriculum = pool(capacity=5)
    for i in range(80):
        assert curriculum.consider(Offer(sum_of(10 + i, 99 - i // 2), AUTHOR), i) == ""
    assert {entry.step for entry in curriculum.live()} == {75, 76, 77, 78, 79}


def test_what_is_kept_of_the_past_is_bounded_and_duplicates_are_known_all_the_same():
    curriculum = pool(capacity=20)
    tasks = [sum_of(1000 + 7 * i, 9999 - 13 * i) for i in range(700)]
    for i, task in enumerate(tasks):
        assert curriculum.consider(Offer(task, AUTHOR), i) == ""
    assert len(curriculum.entries) == 20 + WINDOW
    assert [entry.task for entry in curriculum.forgotten] == tasks[: 700 - 20 - WINDOW]
    assert set(curriculum.lineage) == set(curriculum.entries)
    assert curriculum.figures()["curriculum/ever"] == 700
    again = pool(capacity=20)
    again.load(json.loads(json.dumps(curriculum.state())))
    for pooled in (curriculum, again):
        assert pooled.consider(Offer(tasks[0], AUTHOR), 700) == "duplicate"
        assert pooled.refused[-1].reason == "the same as one that retired long ago"
        assert pooled.consider(Offer(sum_of(1, 2), AUTHOR), 700) == ""
    assert again.state() == curriculum.state()


def test_a_cluster_ends_with_its_last_task_and_not_with_its_leader():
    """The leader leaves first, and its cluster lasts while somebody is in it; whoever comes later leads one anew."""
    curriculum = pool(capacity=3, similar=0.5)
    lead, second, third, fourth = (Task.new(f"how many primes are below {n}") for n in (50, 51, 52, 53))
    strangers = iter([Task.new("sort a list"), Task.new("twelve plus one"), Task.new("fold paper")])
    for task in (lead, second, next(strangers), third):  # the leader leaves for the third
        assert curriculum.consider(Offer(task, AUTHOR), 0) == ""
    assert curriculum.entries[lead.id].state == "retired"
    assert curriculum.entries[third.id].cluster == lead.id
    for task in (*strangers, fourth):
        assert curriculum.consider(Offer(task, AUTHOR), 0) == ""
    assert curriculum.entries[fourth.id].cluster == fourth.id


def test_a_checkpoint_of_before_anything_was_forgotten_loads():
    """It has an entry for each task that ever came, and neither hashes nor the order in which they left."""
    curriculum = pool(capacity=500)
    tasks = [sum_of(1000 + 7 * i, 9999 - 13 * i) for i in range(400)]
    for task in tasks:
        assert curriculum.consider(Offer(task, AUTHOR), 0) == ""
    old = json.loads(json.dumps(curriculum.state()))
    del old["forms"], old["retired"]
    for record in old["entries"][:390]:
        record["state"] = "retired"
    curriculum.load(old)
    assert len(curriculum.live()) == 10
    assert len(curriculum.entries) == 10 + WINDOW
    assert all(curriculum.consider(Offer(task, AUTHOR), 1) == "duplicate" for task in tasks)


# -- lineage, alarms, keeping --------------------------------------------------------------------------------------


def test_lineage_is_a_dag_whose_edges_go_from_parent_to_child():
    root = sum_of(12, 34)
    child = sum_of(56, 34, parents=(root.id, "unknown"))
    curriculum = pool([root, child])
    assert list(curriculum.lineage.edges) == [(root.id, child.id)]
    selfish = Task("x", "its own parent", {}, ("x", child.id))
    curriculum.consider(Offer(selfish, AUTHOR), 2)
    assert nx.is_directed_acyclic_graph(curriculum.lineage)
    assert list(curriculum.lineage.predecessors("x")) == [child.id]


def test_alarms_name_a_proposer_that_repeats_itself_and_tasks_that_teach_nothing():
    tasks = [sum_of(10 + i, 90 - i) for i in range(10)]
    curriculum = pool(tasks, samples=2)
    assert curriculum.alarms() == []
    for _ in range(100):
        curriculum.consider(Offer(tasks[0], AUTHOR), 1)
    for task in tasks:
        played(curriculum, task, 2, 0)
    duplicates, easy = curriculum.alarms()
    assert "duplicates" in duplicates
    assert "10 of 10 tasks are solved by all" in easy


def test_an_alarm_tells_when_prompts_grow():
    curriculum = pool()
    for i in range(WINDOW):
        curriculum.consider(Offer(Task.new(f"{i}"), AUTHOR), 0)
    for i in range(WINDOW):
        curriculum.consider(Offer(Task.new(f"{i} " * 20), AUTHOR), 1)
    assert any("characters" in alarm for alarm in curriculum.alarms())


def test_the_histogram_counts_every_known_p_once():
    tasks = [sum_of(10 + i, 90 - i) for i in range(4)]
    curriculum = pool(tasks)
    for task, right in zip(tasks, (0, 2, 4), strict=False):
        played(curriculum, task, right, 4 - right)
    assert curriculum.histogram() == [1, 0, 0, 0, 0, 1, 0, 0, 0, 1]


actions = st.lists(
    st.tuples(st.integers(10, 20), st.integers(10, 14), st.lists(st.sampled_from([1.0, -0.5, None]), max_size=3)),
    max_size=40,
)


@given(actions, actions)
def test_a_pool_goes_on_from_its_state_as_if_it_had_never_been_saved(before, after):
    def grow(curriculum, moves, step):
        for a, b, returns in moves:
            parents = tuple(curriculum.entries)[-1:]
            task = sum_of(a, b, parents)
            curriculum.absorb(step, [replace(episode(task, returns), offers=(Offer(task, AUTHOR),))])

    config = CurriculumConfig(capacity=6, samples=2, cluster_share=0.5)
    whole, first, second = Curriculum(config), Curriculum(config), Curriculum(config)
    grow(whole, before, 0)
    grow(first, before, 0)
    second.load(json.loads(json.dumps(first.state())))
    grow(whole, after, 1)
    grow(second, after, 1)
    assert second.state() == whole.state()
    assert second.choose(3, random.Random(5)) == whole.choose(3, random.Random(5))
    assert nx.is_directed_acyclic_graph(whole.lineage)
    assert len(whole.live()) <= 6


@pytest.mark.parametrize(
    "config", [{"choice": "learnabilty"}, {"past": 2.0}, {"low": 0.9, "high": 0.5}, {"similar": 0}]
)
def test_a_config_out_of_range_is_refused_with_its_key(config):
    with pytest.raises(ConfigError, match=f"curriculum.{[*config][-1]}"):
        CurriculumConfig(**config)


def test_an_answer_that_is_no_text_is_no_leak():
    assert not leaks(Task.new("True or False: 1 = 1", answer=True))
    assert not leaks(Task.new("list [1, 2]", answer=[1, 2]))


def test_what_a_game_begins_with_is_in_the_pool_and_was_proposed_by_nobody():
    curriculum, first = pool(), sum_of(1, 1)
    curriculum.admit(first)
    assert [entry.task for entry in curriculum.live()] == [first]
    assert curriculum.consider(Offer(first, AUTHOR), 1) == "duplicate"
    assert curriculum.figures()["curriculum/duplicates"] == 1.0  # of one proposal
