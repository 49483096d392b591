"""Agents read a context and reply; what a model was asked and what it said lie in the context to the token."""

import asyncio
import math
from collections import Counter
from dataclasses import replace

import pytest
from tokens import CHATML, chatml

from arena.agent import (
    Agent,
    BotAgent,
    HumanAgent,
    LLMAgent,
    OracleAgent,
    RandomAgent,
    ScriptedAgent,
    draw,
    opening,
    tempered,
)
from arena.chat import Chat, ChatError
from arena.context import Context, CutOff, Left
from arena.engines import ContextFull
from arena.engines.scripted import ScriptedEngine
from arena.seeding import derive
from roles import Example, Format, Memory, Reply, Role, Sampling

CHAT = Chat(chatml())
ROLE = Role(
    name="kuhn",
    system="Play.",
    action=r"\A\[([a-z]+)\]\Z",
    examples=[Example("Card: Q.", "[check]")],
    sampling=Sampling(max_tokens=20, stop=["]"]),
)


def act(agent, context):
    return asyncio.run(agent.act(context))


def llm(replies=("[bet]",), role=ROLE, **engine):
    return LLMAgent("me", role, ScriptedEngine(CHAT.encode, replies, end=CHAT.end, **engine), CHAT)


def heard(text="Card: K.", **fields):
    context = Context(**fields)
    context.hear(text)
    return context


def turn(agent, context, text):
    context.hear(text)
    reply = act(agent, context)
    context.said(reply)
    return reply


def told(*texts):
    return [*opening(ROLE), *({"role": "user", "content": text} for text in texts)]


def test_a_seed_is_its_parts_on_every_machine():
    assert derive(1, "kuhn", 2) == derive("1", "kuhn", 2) == 4426675302000138788
    assert len({derive(run, turn) for run in range(20) for turn in range(20)}) == 400
    assert derive(1, 11) != derive(11, 1)
    assert all(0 <= derive(i) < 2**63 for i in range(50))


# -- a model at a seat -----------------------------------------------------------------------------------------------


def test_the_context_holds_the_ids_as_asked_and_as_sampled():
    agent, context = llm(weigh=lambda ids, reply: [-0.5] * len(reply)), heard()
    assert act(agent, context) == "[bet]"
    prompt, reply = CHAT.open(told("Card: K.")), CHAT.encode("[bet]")
    assert agent.engine.asked[0][0] == tuple(prompt)
    assert context.view.tokens == prompt + reply
    assert context.view.mask == [False] * len(prompt) + [True] * len(reply)
    assert context.view.logprobs == [0.0] * len(prompt) + [-0.5] * len(reply)
    assert context.view.versions == [-1] * len(prompt) + [0] * len(reply)
    assert context.span == (len(prompt), len(prompt) + len(reply))
    assert (context.sampled, context.stop) == (len(reply), "stop")


def test_full_memory_grows_one_view_in_which_every_prompt_is_a_prefix():
    agent, context = llm(["[bet]", "[call]", "no"], replace(ROLE, sampling=Sampling(max_tokens=20))), Context()
    for text in ("Card: K.", "Card: Q.", "Card: J."):
        turn(agent, context, text)
    assert len(context.views) == 1
    for prompt, _, _ in agent.engine.asked:
        assert context.view.tokens[: len(prompt)] == list(prompt)
    rendered = context.messages[:-1]
    assert agent.engine.asked[2][0] == tuple(CHAT.open(rendered))


def test_memory_by_the_turn_begins_afresh_each_time():
    agent, context = llm(["[bet]", "[call]"], replace(ROLE, memory=Memory.turn)), Context()
    turn(agent, context, "Card: K.")
    turn(agent, context, "Card: Q.")
    assert [asked[0] for asked in agent.engine.asked] == [tuple(CHAT.open(told(t))) for t in ("Card: K.", "Card: Q.")]
    assert [sum(view.mask) for view in context.views] == [len(CHAT.encode("[bet]")), len(CHAT.encode("[call]"))]
    assert [m["content"] for m in context.messages[-4:]] == ["Card: K.", "[bet]", "Card: Q.", "[call]"]


def test_a_raw_role_continues_plain_text():
    role = replace(ROLE, format=Format.raw, system="1 + 1 = 2\n", examples=[Example("2 + 2 = ", "4\n")])
    agent = llm(["[bet]"], role)
    act(agent, heard("3 + 3 = "))
    assert agent.engine.asked[0][0] == tuple(CHAT.encode("1 + 1 = 2\n2 + 2 = 4\n3 + 3 = "))


@pytest.mark.parametrize("kind", ["stop text", "length", "own end"])
def test_the_end_of_turn_is_trained_only_where_it_was_sampled(kind):
    """O-16: the end mark is the pad of this tokenizer, and still trained."""
    roles = {
        "stop text": ROLE,
        "length": replace(ROLE, sampling=Sampling(max_tokens=2)),
        "own end": replace(ROLE, sampling=Sampling(max_tokens=20)),
    }
    agent, context = llm(["[bet]", "[bet]"], roles[kind]), Context()
    turn(agent, context, "Card: K.")
    turn(agent, context, "Card: Q.")
    stop = context.view.tokens.index(CHAT.end, len(agent.engine.asked[0][0]))
    assert CHAT.tokenizer.pad_token_id == CHAT.end
    assert context.view.mask[stop] == (kind == "own end")
    assert context.view.tokens[stop + 1 :][: len(CHAT.encode("\n"))] == CHAT.encode("\n")


def test_equal_seeds_ask_with_equal_seeds_and_turns_differ():
    agent = llm(["[bet]"] * 4)
    first, second = Context(seed=(1, "first_0")), Context(seed=(1, "first_0"))
    for context in (first, second):
        turn(agent, context, "a")
        turn(agent, context, "b")
    seeds = [seed for _, _, seed in agent.engine.asked]
    assert seeds[:2] == seeds[2:] == [derive(1, "first_0", 0), derive(1, "first_0", 1)]


def test_temperature_is_kept_beside_every_sampled_id():
    role = replace(ROLE, sampling=Sampling(temperature=0.5, max_tokens=20, stop=["]"]))
    agent, context = llm(role=role), heard()
    act(agent, context)
    assert agent.engine.asked[0][1].temperature == 0.5
    assert {t for t, sampled in zip(context.view.temperatures, context.view.mask, strict=True) if sampled} == {0.5}


def test_the_last_tokens_of_a_budget_are_asked_for_and_then_the_seat_is_cut_off():
    role = replace(ROLE, budget=5, sampling=Sampling(max_tokens=3))
    agent, context = llm(["[check] [check] [check]"] * 3, role), Context()
    turn(agent, context, "a")
    turn(agent, context, "b")
    context.hear("c")
    with pytest.raises(CutOff, match="budget: all 5 tokens"):
        act(agent, context)
    assert [decoding.max_tokens for _, decoding, _ in agent.engine.asked] == [3, 2]
    assert context.sampled == 5


def test_a_full_engine_cuts_the_seat_off_by_type():
    """O-20"""
    with pytest.raises(CutOff, match="the engine holds 30") as caught:
        act(llm(limit=30), heard("door " * 40))
    assert isinstance(caught.value.__cause__, ContextFull)


def test_a_model_that_cannot_speak_in_the_way_of_the_role_is_refused_before_any_game():
    strict = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no') }}{% endif %}" + CHATML
    with pytest.raises(ChatError, match="system"):
        LLMAgent("me", ROLE, ScriptedEngine(CHAT.encode, ()), Chat(chatml(strict)))
    with pytest.raises(ChatError, match="tokens of this model"):
        llm(role=replace(ROLE, sampling=Sampling(stop=["[check] [bet]"])))


# -- legal replies ---------------------------------------------------------------------------------------------------


def weighing(**chances):
    """An engine's log-probabilities: those of whole replies, all on their first id."""
    table = {tuple(CHAT.encode(f"[{move}]")): math.log(p) for move, p in chances.items()}
    return lambda ids, reply: [table.get(tuple(reply), math.log(0.01)), *[0.0] * (len(reply) - 1)]


def test_a_legal_reply_is_drawn_by_renormalised_probabilities():
    role = replace(ROLE, reply=Reply.legal)
    agent = llm((), role, weigh=weighing(bet=0.03, check=0.01))
    contexts = [heard(legal=("check", "bet"), seed=(i,)) for i in range(400)]
    drawn = Counter(act(agent, context) for context in contexts)
    assert set(drawn) == {"[bet]", "[check]"}
    assert abs(drawn["[bet]"] / 400 - 0.75) < 4 * math.sqrt(0.75 * 0.25 / 400)
    (choice,) = contexts[0].choices
    assert choice.options == tuple(CHAT.options(role, ["check", "bet"]))
    assert choice.moves[choice.taken] in act(agent, contexts[0])
    assert choice.logprobs == pytest.approx((math.log(0.01), math.log(0.03)))
    assert choice.drawn


def test_a_drawn_reply_is_context_and_never_trained_by_the_token():
    agent, context = llm((), replace(ROLE, reply=Reply.legal), weigh=weighing(bet=0.5)), heard(legal=("bet",))
    assert act(agent, context) == "[bet]"
    assert not any(context.view.mask)
    assert context.view.tokens[slice(*context.span)] == CHAT.encode("[bet]")
    assert (context.sampled, context.choices[0].at, context.stop) == (0, context.span[0], "legal")


def test_new_weights_between_version_and_score_are_noticed():
    class Moving(ScriptedEngine):
        async def score(self, ids, replies, *, policy="live"):
            found = await super().score(ids, replies, policy=policy)
            if self.version() == 0:
                self.load("live", weighing(bet=0.2), 1)
            return found

    engine = Moving(CHAT.encode, (), weigh=weighing(bet=0.1))
    context = heard(legal=("bet",))
    act(LLMAgent("me", replace(ROLE, reply=Reply.legal), engine, CHAT), context)
    assert (context.choices[0].version, context.choices[0].logprobs) == (1, pytest.approx((math.log(0.2),)))


def test_scored_options_say_which_one_was_replied():
    engine = ScriptedEngine(CHAT.encode, ["[bet]", "[sing]"], weigh=weighing(bet=0.3, check=0.2))
    agent, context = LLMAgent("me", ROLE, engine, CHAT, score_options=True), Context(legal=("check", "bet"))
    turn(agent, context, "a")
    turn(agent, context, "b")
    bet, sing = context.choices
    assert (bet.taken, sing.taken, sing.turn) == (1, -1, 1)
    assert bet.logprobs == pytest.approx((math.log(0.2), math.log(0.3)))
    assert bet.at == len(engine.asked[0][0])
    assert not bet.drawn


def test_odds_are_summed_over_every_way_to_say_a_move():
    """Each id has probability 1/4 here, so a reply of n ids has 4^-n."""
    agent = llm((), weigh=lambda ids, reply: [math.log(0.25)] * len(reply))
    context = heard(legal=("bet", "check"))
    expected = [sum(0.25 ** len(ids) for ids in CHAT.replies(ROLE, move)) for move in ("bet", "check")]
    assert asyncio.run(agent.odds(context)) == pytest.approx(expected)
    assert expected[0] > 0.25 ** len(CHAT.encode("[bet]"))
    assert (context.views, context.pending, len(context.messages)) == ([], 0, 1)


def test_odds_of_legal_replies_are_those_they_are_drawn_with():
    role = replace(ROLE, reply=Reply.legal, sampling=Sampling(temperature=0.5, stop=["]"]))
    agent = llm((), role, weigh=weighing(bet=0.03, check=0.01))
    assert asyncio.run(agent.odds(heard(legal=("check", "bet")))) == pytest.approx([0.1, 0.9])


def test_a_recalled_turn_leads_to_the_prompt_that_play_leads_to():
    agent, played, recalled = llm(["[bet]", "[call]"]), Context(), Context()
    turn(agent, played, "Card: K.")
    turn(agent, played, "Card: Q.")
    recalled.hear("Card: K.")
    agent.recall(recalled, "bet")
    recalled.hear("Card: Q.")
    agent.recall(recalled, "call")
    assert recalled.view.tokens == played.view.tokens
    assert recalled.messages == played.messages


def test_tempered_probabilities():
    assert tempered([math.log(0.2), math.log(0.6)], 1.0) == pytest.approx([0.25, 0.75])
    assert tempered([math.log(0.2), math.log(0.6)], 0.5) == pytest.approx([0.1, 0.9])
    assert tempered([-3.0, -1.0, -1.0], 0) == [0.0, 1.0, 0.0]
    assert tempered([-2000.0, -2000.0], 1.0) == [0.5, 0.5]
    with pytest.raises(ValueError, match="no reply can be drawn"):
        tempered([-math.inf], 1.0)


def test_draws_follow_their_weights():
    counts = Counter(draw([1.0, 0.0, 3.0], seed) for seed in range(2000))
    assert counts[1] == 0
    assert abs(counts[2] / 2000 - 0.75) < 4 * math.sqrt(0.75 * 0.25 / 2000)
    with pytest.raises(ValueError, match="can't draw from weights"):
        draw([0.0], 1)


# -- without a model -------------------------------------------------------------------------------------------------


def test_everybody_at_a_table_is_an_agent():
    for agent in (llm(), RandomAgent(), OracleAgent(), ScriptedAgent(()), HumanAgent()):
        assert isinstance(agent, Agent)


def test_random_play_is_even_and_repeatable():
    drawn = [act(RandomAgent(), Context(legal=("a", "b", "c"), seed=(i,))) for i in range(900)]
    assert all(abs(n / 900 - 1 / 3) < 0.06 for n in Counter(drawn).values())
    assert drawn[:20] == [act(RandomAgent(), Context(legal=("a", "b", "c"), seed=(i,))) for i in range(20)]
    with pytest.raises(ValueError, match="lists its legal moves"):
        act(RandomAgent(), Context())


def test_an_oracle_plays_the_game_s_own_odds():
    drawn = Counter(
        act(OracleAgent(), Context(plays=lambda bot: {"a": 0.25, "b": 0.75}, seed=(i,))) for i in range(800)
    )
    assert abs(drawn["[b]"] / 800 - 0.75) < 0.06
    with pytest.raises(ValueError, match="needs a game with an oracle"):
        act(OracleAgent(), Context(plays=lambda bot: {}))


def test_a_script_is_said_word_for_word_and_ends_loudly():
    agent, context = ScriptedAgent(["[a", "b]"]), Context()
    assert [turn(agent, context, "?"), turn(agent, context, "?")] == ["[a", "b]"]
    with pytest.raises(ValueError, match="has 2 replies and is asked for one more"):
        turn(agent, context, "?")


def test_a_human_sees_clean_text_and_is_asked_again():
    shown, typed = [], iter(["", "  ", "bet"])
    agent = HumanAgent(ask=lambda prompt: next(typed), show=shown.append)
    context = heard("\x1b[2JCard: K.\u202e\n\tnow", legal=("check", "bet"))
    assert act(agent, context) == "[bet]"
    assert shown[0] == "Card: K.\n\tnow"
    assert shown[1] == "moves: [check] [bet]"
    assert len(shown) == 4


def test_agents_without_a_model_say_whole_moves_whatever_brackets_they_hold():
    """A program such as sorted(x)[1] is one move, and [1, 2] is not 1, 2."""
    for move in ("bet", "[1, 2]", "def f(x):\n    return sorted(x)[1]", "f([[]])", "a] or [b"):
        for agent in (RandomAgent(), OracleAgent(), BotAgent("any"), human(move)):
            plays = Context(legal=(move,), plays=lambda bot, move=move: {move: 1.0})
            assert agent.role.move(act(agent, plays)) == move


@pytest.mark.parametrize(
    ("typed", "move"),
    [
        ("bet", "bet"),
        ("[bet]", "bet"),
        ("I take [bet]", "bet"),
        ("[[1, 2]]", "[1, 2]"),
        ("[7 + 12]", "7 + 12"),
        ("?", ""),
    ],
)
def test_a_human_may_leave_out_the_brackets_of_a_listed_move(typed, move):
    agent = human(typed)
    assert agent.role.move(act(agent, Context(legal=("check", "bet")))) == move


def human(typed):
    return HumanAgent(ask=lambda prompt: typed, show=lambda text: None)


def test_a_human_reads_moves_once_where_the_game_lists_them():
    shown = []
    agent = HumanAgent(ask=lambda prompt: "bet", show=shown.append)
    act(agent, heard("Card: K. Actions: [check] [bet]", legal=("check", "bet")))
    act(agent, heard("Card: K. Actions: [check] and more", legal=("check", "bet")))
    assert shown[0] == "Card: K. Actions: [check] [bet]"
    assert shown[1:] == ["Card: K. Actions: [check] and more", "moves: [check] [bet]"]


def test_a_human_who_leaves_is_no_error_that_anybody_forgives():
    def gone(prompt):
        raise EOFError("no more input")

    with pytest.raises(Left, match="nobody answers for 'human' any more") as caught:
        act(HumanAgent(ask=gone, show=lambda text: None), heard())
    assert not isinstance(caught.value, Exception)
