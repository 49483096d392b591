"""Whole strategies in small games: what an agent would do everywhere, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from arena import solve
from arena.agent import Agent, BotAgent, LLMAgent, OracleAgent, RandomAgent, ScriptedAgent
from arena.context import Context
from arena.game import Game
from arena.play import in_parallel
from arena.positions import Positions
from arena.solve import Information, Tree
from roles import Memory, Reply, Role

Table = dict[Information, tuple[float, ...]]

# Information sets that an engine is asked for at once: enough to fill its steps, few enough that what it keeps for them
# stays small beside the model.
ASKED = 64


class NoOdds(ValueError):
    """The probabilities of an agent's moves can't be told exactly; the message says why, and what would help."""


async def strategy(
    tree: Tree | Positions,
    agents: Mapping[str, Agent],
    *,
    canonical: bool = False,
    told: Callable[[int], None] = lambda done: None,
) -> Table:
    """The probability of every legal move in every information set, each asked for once; agents by role.

    What a row lacks to 1 is any other reply: illegal. `canonical` counts only the usual spelling of each reply of a
    language model, which is a lower bound and much cheaper. `told` hears how many sets are done. Raises `NoOdds` for an
    agent that has no exact probabilities, before any model is asked.
    """
    for known in tree.information:
        if reason := inexact(agents[known.role], known.legal):
            raise NoOdds(reason)
    if isinstance(tree, Positions) and (held := next((a for a in agents.values() if remembers(a)), None)):
        raise NoOdds(f"agent {held.name!r} may go by more than the position: its strategy takes the game's whole tree")
    found: Table = {}
    waiting = iter(zip(tree.information, tree.positions, strict=True))

    async def work() -> None:
        for known, game in waiting:
            agent = agents[known.role]
            asked = _asked(agent, known, canonical) if isinstance(agent, LLMAgent) else None
            found[known] = _plain(agent, known, game) if asked is None else await asked
            told(len(found))

    await in_parallel(work, min(ASKED, len(tree.information)))
    return {known: found[known] for known in tree.information}


def inexact(agent: Agent, legal: Sequence[str] = ()) -> str:
    """Why an agent's probabilities of these moves can't be told exactly; "" if they can, as far as these show."""
    if isinstance(agent, LLMAgent):
        return _inexact_role(agent.role, legal)
    if isinstance(agent, RandomAgent | OracleAgent | BotAgent | ScriptedAgent):
        return ""
    return f"agent {agent.name!r} plays move by move and has no probabilities to read"


def remembers(agent: Agent) -> bool:
    """Whether an agent may go by more than what it hears when it is asked."""
    if isinstance(agent, LLMAgent):
        return agent.role.memory is not Memory.turn
    return not isinstance(agent, RandomAgent | OracleAgent)


def _inexact_role(role: Role, legal: Sequence[str]) -> str:
    if role.reply is Reply.legal:
        return ""
    if role.sampling.temperature != 1:
        return f"role {role.name!r} has temperature {role.sampling.temperature:g}: free replies are exact at 1 only"
    longer = [words for move in legal for words in _longer(role, move) if role.move(words) == move]
    if longer:
        return (
            f"role {role.name!r} also takes {longer[0]!r} for a move, so the words of a move are not all its replies: "
            r"write its action as \A...\Z, or set reply: legal"
        )
    return ""


def _longer(role: Role, move: str) -> list[str]:
    """Replies with more words than a move needs, of those that the role's stops don't cut short."""
    words = role.words(move)
    before = [f"{more}{words}" for more in (" ", "\n", "So: ")]
    return before if words.endswith(tuple(role.sampling.stop)) else [*before, f"{words} ", f"{words} then"]


def _plain(agent: Agent, known: Information, game: Game) -> tuple[float, ...]:
    """The row of an agent that needs no model."""
    if isinstance(agent, RandomAgent):
        return (1 / len(known.legal),) * len(known.legal)
    if isinstance(agent, ScriptedAgent):
        if len(known.moves) >= len(agent.replies):
            raise NoOdds(f"agent {agent.name!r} has {len(agent.replies)} replies, and a game may ask for one more")
        said = agent.role.move(agent.replies[len(known.moves)])
        return tuple(float(said == move) for move in known.legal)
    odds = game.bot(agent.bot)(game, known.seat) if isinstance(agent, BotAgent) else game.oracle(known.seat)
    if not odds:
        raise NoOdds(f"agent {agent.name!r} has no move for {known.seat} after {known.heard[-1]!r}")
    return tuple(odds.get(move, 0.0) for move in known.legal)


async def _asked(agent: LLMAgent, known: Information, canonical: bool) -> tuple[float, ...]:
    context = Context()
    for heard, move in zip(known.heard, known.moves, strict=False):
        context.hear(heard)
        agent.recall(context, move)
    context.hear(known.heard[-1])
    context.legal = known.legal
    odds = await agent.odds(context, canonical=canonical)
    excess = sum(odds)
    return tuple(p / excess for p in odds) if excess > 1 else tuple(odds)  # rounding alone can exceed 1


# -- what comes of one ---------------------------------------------------------------------------------------------


def illegal_mass(table: Table) -> float:
    """The mean probability of an illegal reply over information sets."""
    return sum(max(0.0, 1.0 - sum(row)) for row in table.values()) / len(table)


def illegal_games(tree: Tree, policy: solve.Policy) -> float:
    """The probability that a game of `policy` against itself comes to an illegal reply."""
    illegal = {kids[-1] for kids, mover in zip(tree.children, tree.mover, strict=True) if mover >= 0}
    ends = (None if r is None else (float(n in illegal),) * len(r) for n, r in enumerate(tree.returns))
    return next(iter(solve.values(replace(tree, returns=tuple(ends)), policy).values()))


def team(tree: Tree, table: Table) -> dict[str, float]:
    """The return of a team that plays `table` in every seat, beside what is known of its game; {} of no team."""
    game = tree.positions[0]
    if not game.info.cooperative:
        return {}
    mine = solve.values(tree, table)[tree.seats[0]]  # all seats get the same, and it is counted once
    return {"team/return": mine, **{f"team/{name}": value for name, value in game.known.items()}}
