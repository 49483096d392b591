"""Benchmarks compare the same work, and the page says what was measured."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from arena.engines import Completion, Decoding

sys.path.append(str(Path(__file__).parent.parent / "bench"))

import contender
import curriculum
import curve
import play
import prompts
import ratings
import replay
import rollout
import store
import table
import update

BENCH = Path(play.__file__).parent


class Echo:
    """Replies with as many ids as it may, after as many turns of the loop as the prompt's first id says."""

    async def generate(self, ids, decoding, *, policy="live", seed=0):
        for _ in range(ids[0]):
            await asyncio.sleep(0)
        return Completion((7,) * decoding.max_tokens, (0.0,) * decoding.max_tokens, 0, "length")


def test_a_wave_holds_what_no_reply_of_its_own_game_had_to_come_before():
    async def proposer_and_two_solvers(engine):
        await engine.generate([1], Decoding(max_tokens=2))
        await asyncio.gather(*(engine.generate([n], Decoding(max_tokens=3)) for n in (2, 9)))

    async def one_turn(engine):
        await engine.generate([5], Decoding(max_tokens=1))

    games = [play.Recorder(Echo()), play.Recorder(Echo())]
    asyncio.run(proposer_and_two_solvers(games[0]))
    asyncio.run(one_turn(games[1]))
    assert [[request["prompt"] for request in wave] for wave in play.waves(games)] == [[[1], [5]], [[2], [9]]]
    assert [game.sampled for game in games] == [2 + 3 + 3, 1]


def test_every_recorded_request_is_asked_again_in_batches_of_one_kind():
    wave = [{"prompt": [i], "max_tokens": 4 + i % 2, "stop": [0]} for i in range(7)]
    batches = list(replay.alike(wave, 3))
    assert [[request["prompt"][0] for request in batch] for batch in batches] == [[0, 2, 4], [6], [1, 3, 5]]


def test_a_peer_forgets_before_each_repeat_and_counts_one_of_them():
    events = []

    def generate(wave):
        events.append(len(wave))
        return 10 * len(wave)

    wave = [{"prompt": [1], "max_tokens": 1, "stop": []}] * 2
    found = replay.replay({"duel": [wave, wave[:1]]}, generate, lambda: events.append("forget"), repeats=2)
    assert events == [1, "forget", 2, 1, "forget", 2, 1]
    assert found["duel"]["sampled_tokens"] == 30
    assert len(found["duel"]["seconds"]) == 2


def measured(seconds: dict) -> dict:
    """A report of one work of 10 games and 90 prompt tokens, 10 sampled tokens by everybody."""
    works = {"kuhn": {**rollout.WORKS["kuhn"], "games": 10, "requests": 12, "prompt_tokens": 90}}
    results = []
    for name, spent in seconds.items():
        results += rollout.rows(works, name, {"kuhn": {"seconds": spent, "sampled_tokens": 10}})
    rollout.compare(results)
    machine = {"processor": "abacus", "cores": 2, "python": "3.11", "load": [0.0, 0.0, 0.0]}
    costs = {name: {"versions": {"torch": "1"}} for name in seconds}
    report = {"machine": machine, "threads": 2, "repeats": 2, "quick": False, "contenders": costs}
    return {**report, "works": works, "results": results}


def test_rates_are_of_the_best_repeat_and_ratios_of_games():
    report = measured({"scrimmage": [4.0, 2.0], "transformers.generate": [8.0, 9.0]})
    ours, peer = report["results"]
    assert (ours["games_per_second"], ours["tokens_per_second"]) == (5.0, 50.0)
    assert (peer["games_per_second"], peer["ours_is_faster"]) == (1.25, 4.0)


def test_a_missed_target_is_named():
    assert rollout.missed(measured({"scrimmage": [2.0], "transformers.generate": [10.0], "vLLM": [2.1]})) == []
    missed = rollout.missed(measured({"scrimmage": [2.0], "transformers.generate": [9.0], "vLLM": [1.0]}))
    assert missed == ["kuhn: 4.5x transformers.generate, wanted 5.0x", "kuhn: 0.5x vLLM, wanted 1.0x"]


def test_a_contender_that_breaks_says_its_last_words(tmp_path, monkeypatch):
    (tmp_path / "broken.py").write_text("raise SystemExit('the abacus fell')")
    monkeypatch.setattr(contender, "HERE", tmp_path)
    with pytest.raises(contender.Broken, match=r"broken.py ended with 1\nthe abacus fell"):
        contender.ask(contender.OWN, "broken.py", {}, threads=1)


def test_a_broken_peer_fails_the_bench_but_keeps_the_others():
    report = measured({"scrimmage": [2.0], "transformers.generate": [10.0]})
    report["contenders"]["vLLM"] = {"broken": "replay_vllm.py ended with 1"}
    assert rollout.missed(report) == ["replay_vllm.py ended with 1"]
    assert "vLLM was left out: replay_vllm.py ended with 1" in table.rollout(report)


def test_a_step_is_compared_by_seconds_and_by_memory():
    step = {"seconds": 10.0, "flops": 5e9}
    ours = {
        "steps": [{**step, "seconds": 12.0}, step],
        "gemm_rate": 1e9,
        "step_peak_gb": 3.0,
        "versions": {},
        "load": {},
    }
    peer = {**ours, "steps": [{"seconds": 40.0}], "step_peak_gb": 6.0}
    results = [update.row("full", "scrimmage", ours, ours), update.row("full", "TRL", peer, ours)]
    update.compare(results)
    assert results[0]["gemm_share"] == 0.5
    assert (results[1]["ours_is_faster"], results[1]["ours_needs"], results[1]["gemm_share"]) == (4.0, 0.5, 0.125)
    assert update.missed({"quick": False, "broken": {}, "results": results}) == ["4.0x as fast as TRL, wanted 5.0x"]


def test_the_tables_of_the_page_are_the_files_of_the_results(tmp_path):
    page = "before\n<!-- table rollout -->\nold\n<!-- end -->\nbetween\n<!-- table update -->\n<!-- end -->\n"
    (tmp_path / "rollout.json").write_text(json.dumps(measured({"scrimmage": [2.0], "vLLM": [3.0]})))
    filled = table.filled(page, tmp_path)
    assert "| 10 Kuhn poker, 12 requests | vLLM | 3.33 | 33 | 1.5x |" in filled
    assert "old" not in filled
    assert filled.startswith("before\n")
    assert "between\n<!-- table update -->\nNot measured yet.\n<!-- end -->\n" in filled
    assert table.filled(filled, tmp_path) == filled


def test_the_page_shows_the_results_that_are_kept():
    for page in table.PAGES:
        assert table.filled(page.read_text(), table.RESULTS) == page.read_text()


def test_prompts_have_the_length_that_was_asked_or_none_are_given():
    class Letters:
        def get_vocab(self):
            return {"a": 0}

        def __call__(self, text, add_special_tokens):
            return {"input_ids": [ord(letter) for letter in text]}

    class Doubled(Letters):
        def __call__(self, text, add_special_tokens):
            return {"input_ids": [0] * 2 * len(text)}

    first, second = prompts.texts(Letters(), 2, 30)
    assert len(first) == len(second) == 30
    assert first != second
    with pytest.raises(RuntimeError, match="30 pieces is 60 tokens"):
        prompts.texts(Doubled(), 1, 30)
    assert prompts.mark([[1], [2]]) == prompts.mark([[2], [1]]) != prompts.mark([[1], [3]])


def test_ratings_are_measured_beside_the_peers_that_are_there(monkeypatch):
    def nowhere():
        raise ImportError("no such package")

    monkeypatch.setattr(ratings, "PEERS", {"here": lambda: len, "elsewhere": nowhere})
    rows, missing = ratings.measure(40, 20, 2)
    assert missing == {"elsewhere": "absent"}
    counts = {row["contender"]: row["matches"] for row in rows}
    assert counts == {
        "scrimmage, two lists from the log": 40,
        "scrimmage, closed form": 40,
        "here": 20,
        "scrimmage, standings": 4,
    }
    assert all(len(row["seconds"]) == 2 for row in rows)


def test_all_who_rate_rate_the_same_duels():
    games = ratings.duels(50)
    found = ratings.closed_form(games)
    peer = ratings.trueskill()(games)
    for agent in ratings.AGENTS:
        assert found[agent] == pytest.approx((peer[agent].mu, peer[agent].sigma), abs=5e-4)
    assert [match.scores in ((1.0, 0.0), (0.5, 0.5)) for match in ratings.log(games)][::2] == [True] * 25


def test_a_million_matches_must_take_less_than_ten_seconds():
    report = {"quick": False, "results": [{"matches_per_second": 80_000}]}
    assert ratings.missed(report) == ["12.5 s for a million matches, wanted 10 s"]
    assert ratings.missed({"quick": False, "results": [{"matches_per_second": 100_001}]}) == []


def test_the_store_and_the_plain_file_are_asked_the_same_and_answer_alike(tmp_path, monkeypatch):
    wrote, rows = store.measure(tmp_path, 40, 1)
    assert {row["contender"]: row["turns"] for row in wrote} == {"scrimmage": 800, "JSON lines": 800}
    assert {row["contender"] for row in rows if row["work"] == "pay-off"} == {"scrimmage", "self-join", "JSON lines"}
    monkeypatch.setattr(store, "page_lines", lambda path, after: [])
    (tmp_path / "again").mkdir()
    with pytest.raises(RuntimeError, match="a page far back: the answers differ"):
        store.measure(tmp_path / "again", 40, 1)


def test_answers_of_the_store_must_come_before_anybody_notices():
    rows = [{"work": work, "contender": "scrimmage", "ms": 1.0} for work in store.TARGETS_MS]
    assert store.missed({"quick": False, "results": rows}) == []
    rows[1]["ms"] = 80.0
    assert store.missed({"quick": False, "results": rows}) == ["pay-off: 80.0 ms, wanted 50"]


@pytest.mark.slow
@pytest.mark.parametrize("script", ["rollout.py", "update.py"])
def test_a_benchmark_runs_alone(script, tmp_path):
    words = ["--quick", "--model", "tiny", "--peers", "none", "--threads", "1", "--out", str(tmp_path / "found.json")]
    ended = subprocess.run([sys.executable, BENCH / script, *words], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert {row["contender"] for row in json.loads((tmp_path / "found.json").read_text())["results"]} == {"scrimmage"}


@pytest.mark.slow
def test_the_bench_of_the_curriculum_measures_a_run(tmp_path):
    words = ["--quick", "--folder", str(tmp_path)]
    ended = subprocess.run([sys.executable, BENCH / "curriculum.py", *words], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "| 0 |" in ended.stdout


def test_the_curve_holds_every_number_of_the_report():
    seeds = [
        {"accuracy": {"0": 0.25, "5": 0.5}, "p_first": [4, 0, 0], "p_last": [0, 2, 2]},
        {"accuracy": {"0": 0.75, "5": 1.0}, "p_first": [0, 0, 4], "p_last": [2, 2, 0]},
    ]
    lines = curve.accuracy(seeds)
    ends = [line.split("points=")[1] for line in lines if "polyline" in line]
    middle = curve.TOP + curve.HIGH / 2
    assert len(ends) == 3
    assert f",{middle:.1f} " in ends[2]  # the mean of 1/4 and 3/4
    assert f',{curve.TOP + curve.HIGH / 4:.1f}"' in ends[2]  # of 1/2 and 1
    assert curve.summed([found["p_first"] for found in seeds]) == [0.5, 0, 0.5]
    assert curve.summed([found["p_last"] for found in seeds]) == [0.25, 0.5, 0.25]


def test_problems_are_counted_by_how_many_of_eight_solvers_were_right():
    assert curriculum.histogram([k / 8 for k in range(9)]) == [1] * 9


def test_a_control_of_the_curriculum_has_a_line_of_its_own():
    one = {"accuracy": {"0": 0.0, "5": 0.5}}
    kinds = [line.split('"')[1] for line in curve.accuracy([one], [one]) if "polyline" in line]
    assert kinds == ["seed", "mean", "control"]


def test_chance_is_held_to_no_promise():
    row = {"seed": 0, "accuracy": {"0": 0.5, "5": 0.5}, "duplicates": [0.2], "held_out_posed": 0, "seconds": 1.0}
    row |= {"p_first": [0, 4, 0], "p_last": [2, 0, 2]}
    assert curriculum.missed({"results": [row | {"proposer": "chance"}]}) == []
    assert len(curriculum.missed({"results": [row | {"proposer": "the model"}]})) == 3
