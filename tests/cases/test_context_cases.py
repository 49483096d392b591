"""Token masks, budgets and seeds: situations that broke other tools (O-15, O-16, O-19, O-20, O-28)."""

import asyncio
from collections.abc import Mapping

from tokens import chatml

from arena.agent import LLMAgent
from arena.chat import Chat
from arena.context import Context
from arena.engines import Completion, Decoding
from arena.engines.scripted import ScriptedEngine
from arena.game import Game, GameInfo
from arena.make import make
from arena.play import Job, play, play_many
from roles import Role, Sampling

CHAT = Chat(chatml())
ANY = r"(?s)(.*)"


class Talk(Game):
    """One seat hears `text` and says anything, `turns` times."""

    roles: Mapping[str, int] = {"talker": 1}
    info = GameInfo(max_illegal=0)

    def __init__(self, text: str, turns: int):
        self.text, self.turns = text, turns

    def start(self, rng, task):
        self.left = self.turns
        self.tell(self.text)
        return ("talker_0",)

    def parse(self, seat, text):
        return text

    def play(self, moves):
        self.left -= 1
        self.tell(self.text)
        return ("talker_0",) if self.left else ()


class Letters(ScriptedEngine):
    """Says words letter by letter, as no encoder ever would."""

    async def generate(self, ids, decoding: Decoding, *, policy="live", seed=0):
        reply = [i for letter in "[check]" for i in self.encode(letter)]
        self.asked.append((tuple(ids), decoding, seed))
        return Completion((*reply, self.end), tuple(-0.1 * i for i in range(len(reply) + 1)), 0, "stop")


def run(game, agents, **options):
    return asyncio.run(play(game, agents, **{"seed": 0, **options}))


def lengths(context: Context) -> set[int]:
    return {len(array) for view in context.views for array in vars(view).values()}


def test_sampled_ids_are_never_encoded_again():
    """O-15: decode and encode would merge the letters of [check] to fewer ids; the context keeps those sampled."""
    letters = [i for letter in "[check]" for i in CHAT.encode(letter)]
    assert len(CHAT.encode(CHAT.tokenizer.decode(letters))) < len(letters)
    engine = Letters(CHAT.encode, (), end=CHAT.end)
    agent = LLMAgent("me", Role(name="talk", action=ANY, sampling=Sampling(max_tokens=40)), engine, CHAT)
    episode = run(Talk("go on", 3), {"talker": agent})
    context = episode.contexts["talker_0"]
    assert len(lengths(context)) == 1
    for turn, (prompt, _, _) in zip(episode.turns, engine.asked, strict=True):
        assert context.view.tokens[slice(*turn.span)] == [*letters, CHAT.end]
        assert context.view.logprobs[slice(*turn.span)] == [-0.1 * i for i in range(len(letters) + 1)]
        assert context.view.tokens[: turn.span[0]] == list(prompt)


def test_an_engine_that_miscounts_is_named_with_seat_and_turn():
    """O-15: the lengths are checked when the reply comes, not when a batch is built."""

    class Short(ScriptedEngine):
        async def generate(self, ids, decoding, *, policy="live", seed=0):
            whole = await super().generate(ids, decoding, policy=policy, seed=seed)
            return whole._replace(logprobs=whole.logprobs[:-1]) if len(self.asked) == 2 else whole

    engine = Short(CHAT.encode, ["ab", "ab"], end=CHAT.end)
    agent = LLMAgent("me", Role(name="talk", action=ANY, sampling=Sampling(max_tokens=9)), engine, CHAT)
    episode = run(Talk("go on", 3), {"talker": agent})
    assert episode.ending == "infra"
    assert episode.reason.startswith("talker_0, turn 1: ValueError: 3 sampled ids but 2 logprobs")
    assert len(lengths(episode.contexts["talker_0"])) == 1


def test_own_end_tokens_are_trained_and_what_others_say_is_not():
    """O-16: pad and end of turn are one token; the mask comes from who wrote an id, never from which id it is."""
    assert CHAT.tokenizer.pad_token_id == CHAT.end
    engine = ScriptedEngine(CHAT.encode, ["[A1]", "[A1] it is then"], end=CHAT.end)
    role = Role(name="nim", action=r"\[(A\d)\]", sampling=Sampling(max_tokens=60))
    agent = LLMAgent("me", role, engine, CHAT)
    episode = run(make("nim", heaps=(4,)), {"first": agent, "second": agent})
    context = episode.contexts["first_0"]
    own = [turn for turn in episode.turns if turn.seat == "first_0"]
    inside = {i for turn in own for i in range(*turn.span)}
    assert [i for i, sampled in enumerate(context.view.mask) if sampled] == sorted(inside)
    for turn in own:
        assert context.view.tokens[turn.span[1] - 1] == CHAT.end
    ends = [i for i, token in enumerate(context.view.tokens) if token == CHAT.end]
    assert {i in inside for i in ends} == {True, False}


def test_output_tokens_alone_use_the_budget():
    """O-19: 100 tokens an episode, 40 a turn, context 512, observations of 60 tokens, 4 turns: 40, 40, 20, stop."""
    words = "a" * 60
    assert len(CHAT.encode("b" * 60)) == len(CHAT.encode(words)) == 60
    engine = ScriptedEngine(CHAT.encode, ["c" * 200] * 4, end=CHAT.end, limit=512)
    role = Role(name="talk", action=ANY, budget=100, sampling=Sampling(max_tokens=40))
    episode = run(Talk(words, 4), {"talker": LLMAgent("me", role, engine, CHAT)})
    assert [decoding.max_tokens for _, decoding, _ in engine.asked] == [40, 40, 20]
    assert [turn.span[1] - turn.span[0] for turn in episode.turns] == [40, 40, 20]
    assert {turn.stop for turn in episode.turns} == {"length"}
    assert (episode.ending, episode.fault) == ("cut_off", "talker_0")
    assert "budget" in episode.reason
    assert max(len(prompt) + decoding.max_tokens for prompt, decoding, _ in engine.asked) <= 512
    assert sum(episode.contexts["talker_0"].view.mask) == 100  # nothing was cut after the fact


def test_a_message_too_long_for_the_context_ends_its_own_episode_only():
    """O-20: 10,000 tokens into a context of 2,048."""
    engine = ScriptedEngine(CHAT.encode, lambda ids, seed: "fine", end=CHAT.end, limit=2048)
    agent = LLMAgent("me", Role(name="talk", action=ANY, sampling=Sampling(max_tokens=40)), engine, CHAT)
    flood = "z" * 10_000
    assert len(CHAT.encode(flood)) == 10_000
    games = [Job(Talk(flood if i == 2 else "hello", 2), {"talker": agent}, seed=i) for i in range(5)]
    episodes = asyncio.run(play_many(games, 5))
    assert [episode.ending for episode in episodes] == ["over", "over", "cut_off", "over", "over"]
    assert (episodes[2].fault, episodes[2].returns) == ("talker_0", {"talker_0": 0.0})
    assert "the engine holds 2048" in episodes[2].reason


def test_a_request_s_seed_does_not_depend_on_its_company():
    """O-28: alone, in a batch of 16, in reverse order: the same seed for the same prompt, and the same words."""

    def replies(order, concurrency):
        engine = ScriptedEngine(CHAT.encode, lambda ids, seed: f"[{seed % 1000}]", end=CHAT.end)
        agent = LLMAgent("me", Role(name="talk", action=ANY, sampling=Sampling(max_tokens=40)), engine, CHAT)
        games = [Job(Talk("hello", 2), {"talker": agent}, seed=i, stream=("run", 3)) for i in order]
        episodes = asyncio.run(play_many(games, concurrency))
        return {episode.seed: [turn.reply for turn in episode.turns] for episode in episodes}

    alone, batch, reverse = replies([3], 1), replies(range(16), 16), replies(range(15, -1, -1), 5)
    assert alone[3] == batch[3] == reverse[3]
    assert batch == reverse
    assert len({tuple(said) for said in batch.values()}) == 16
