"""`--where` finds exactly the matches that a loop over all of them would, and nothing of it gets into the SQL."""

import itertools
import random
from dataclasses import replace

import pytest

from arena.config import ConfigError
from arena.store import Store
from arena.types import Episode, Match, Turn
from arena.where import FIELDS, Term, parse, query

AGENTS = ("ann", "bob", "my model", 'bob\'s "x"')


def played(i: int, rng: random.Random) -> tuple[Match, list[Episode]]:
    """A random match: two or three teams, sometimes of two, with and without scores, replies and tasks."""
    teams = tuple(tuple(rng.choice(AGENTS) for _ in range(rng.choice((1, 1, 2)))) for _ in range(rng.choice((2, 2, 3))))
    roles = tuple(tuple(rng.choice(("first", "second")) for _ in team) for team in teams)
    ending = rng.choice(("over", "over", "forfeit", "infra"))
    scores = () if ending == "infra" else tuple(float(rng.randint(-1, 1)) for _ in teams)
    turns = tuple(
        Turn("s_0", t, "", "x", "x", rng.random() < 0.7, span=(0, rng.randint(0, 9))) for t in range(rng.randint(0, 4))
    )
    faced = {"s_0": rng.choice(("t1", "t2"))} if rng.random() < 0.5 else {}
    episode = Episode(f"{i}.0", "nim", i, None, {"s_0": "a"}, faced, turns, {}, {"s_0": 0.0}, ending)
    match = Match(
        f"m{i:03}", rng.choice(("nim", "chess")), teams, scores, roles, ending, rng.choice(("main", "other")),
        (episode.id,), rng.choice(AGENTS) if ending == "forfeit" else "", rng.choice(("", "50% of _ is lost")),
    )  # fmt: skip
    return match, [episode]


COMPARE = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "~": lambda a, b: b in a,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def holds(terms, match, episodes):
    """The meaning of the language, said again in Python: some seat fits all that is said of a seat."""
    turns = [turn for episode in episodes for turn in episode.turns]
    plain = {
        **{"id": match.id, "pool": match.pool, "game": match.game, "ending": match.ending, "fault": match.fault},
        **{"reason": match.reason, "turns": len(turns), "illegal": sum(not turn.legal for turn in turns)},
        "tokens": sum(turn.span[1] for turn in turns),
    }
    several = {"task": {task for episode in episodes for task in episode.faced.values()}}

    def fits(term, team, member):
        compare = COMPARE[term.sign]
        if term.field == "agent":
            return compare(match.teams[team][member], term.value)
        if term.field == "role":
            return compare(match.roles[team][member], term.value)
        if term.field == "score":
            return bool(match.scores) and compare(match.scores[team], term.value)
        if term.field == "against":
            others = itertools.chain(*(other for o, other in enumerate(match.teams) if o != team))
            return any(compare(other, term.value) for other in others)
        if term.field in several:
            return any(compare(one, term.value) for one in several[term.field])
        return compare(plain[term.field], term.value)

    seats = [(t, i) for t, team in enumerate(match.teams) for i in range(len(team))]
    return any(all(fits(term, *seat) for term in terms) for seat in seats)


def any_term(rng):
    field = rng.choice(FIELDS)
    if field in ("turns", "illegal", "tokens", "score"):
        return Term(field, rng.choice(("=", "!=", "<", "<=", ">", ">=")), float(rng.randint(-1, 8)))
    values = {
        **{"id": ("m00", "m007"), "pool": ("main",), "game": ("nim",), "ending": ("over", "forfeit")},
        **{"task": ("t1", "t"), "role": ("first",), "reason": ("%", "_ is")},
    }
    return Term(field, rng.choice(("=", "!=", "~")), rng.choice(values.get(field, AGENTS)))


def test_any_terms_find_what_a_loop_finds():
    rng = random.Random(1)
    log = [played(i, rng) for i in range(120)]
    sizes = set()
    with Store("store.db") as store:
        for match, episodes in log:
            store.add(match, episodes)
        for _ in range(400):
            terms = [any_term(rng) for _ in range(rng.choice((1, 2, 2, 3)))]
            expected = [match.id for match, episodes in log if holds(terms, match, episodes)]
            assert [match.id for match in store.matches(terms, limit=1000)] == expected, terms
            sizes.add(min(len(expected), 3))
            if len(expected) > 2:  # and so do pages
                assert [m.id for m in store.matches(terms, expected[0], 2)] == expected[1:3]
    assert sizes == {0, 1, 2, 3}  # neither everything nor nothing


def test_words_become_terms():
    assert parse("  ") == ()
    assert parse("""game=nim agent="my model" against='bob "x"' score>0 turns<=3 illegal!=0 reason~'a=b c'""") == (
        ("game", "=", "nim"),
        ("agent", "=", "my model"),
        ("against", "=", 'bob "x"'),
        ("score", ">", 0.0),
        ("turns", "<=", 3.0),
        ("illegal", "!=", 0.0),
        ("reason", "~", "a=b c"),
    )
    assert parse("agent=openai/x:1@solver") == (("agent", "=", "openai/x:1@solver"),)
    assert parse("agent = ann") == (("agent", "=", "ann"),)
    assert parse("agent=''") == (("agent", "=", ""),)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("agnet=x", "no field 'agnet': --where: did you mean agent?: there are id, pool, "),
        ("score=high", "score is compared with 'high': --where: give a number"),
        ("score>nan", "score is compared with 'nan': --where: give a number"),
        ("score>=1e999", "score is compared with '1e999': --where: give a number"),
        ("turns=2.5", "turns is compared with '2.5': --where: give a whole number"),
        ("score~1", "score can't be compared by ~: --where: use =, !=, <, <=, > or >="),
        ("game>nim", "game can't be compared by >: --where: use =, != or ~"),
        ("ending=forfiet", "--where ending 'forfiet' not found: did you mean 'forfeit'?"),
        ("game=nim oops", "can't read 'oops': --where: write terms like"),
        ("agent='ann", "can't read \"agent='ann\""),
        ("agent=ann; DROP TABLE match", "can't read 'DROP TABLE match'"),
        ("game=nim OR 1=1", "can't read 'OR 1=1'"),
        ("m.id=1", "can't read 'm.id=1'"),
    ],
)
def test_what_is_no_term_is_one_line(text, line):
    with pytest.raises(ConfigError) as refused:
        parse(text)
    assert str(refused.value).startswith(line)


HOSTILE = ("x' OR '1'='1", 'x" OR 1=1 --', "'; DROP TABLE match; --", "%", "?1", "ann\x00")


@pytest.mark.parametrize("value", HOSTILE)
def test_a_value_is_never_part_of_the_query(value):
    rng = random.Random(2)
    with Store("store.db") as store:
        for i in range(5):
            store.add(*played(i, rng))
        for field in FIELDS[:10]:
            for sign in ("=", "~"):
                text, values = query([Term(field, sign, value)], "m.record")
                assert text == query([Term(field, sign, "harmless")], "m.record")[0]
                assert values == [value]
                assert store.matches([Term(field, sign, value)]) == [
                    match for match in store.matches() if field == "reason" and sign == "~" and value in match.reason
                ]
        assert store.count() == 5
        named = replace(played(9, rng)[0], id="hostile", game=value)
        store.add(named, [])
        assert [match.id for match in store.matches([Term("game", "=", value)])] == ["hostile"]
        assert store.check() == []


@pytest.mark.parametrize(
    "text", ["", "game=nim score>0", "agent=ann", "agent=ann against=bob score<0", "pool=main task=t1"]
)
def test_a_page_walks_an_index_in_its_order_and_sorts_nothing(text):
    with Store("store.db") as store:
        found, values = query(parse(text), "m.record")
        plan = [row[3] for row in store._base.execute(f"EXPLAIN QUERY PLAN {found}", (*values, 0, 10))]
    assert not [step for step in plan if "TEMP B-TREE" in step], plan
    assert plan[0].startswith("SEARCH")
    assert ("INDEX seat_agent (agent=? AND match_id>?)" in plan[0]) == ("agent=" in text)
