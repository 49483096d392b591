"""A guard stands beside an entrant and applies the rules to whoever crashes, hangs or floods."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from arena.agent import Agent
from arena.config import one_of, within
from arena.context import Context, CutOff, Forfeit
from roles import Role

OUTCOMES = ("infra", "forfeit")


@dataclass(frozen=True)
class Rules:
    """What becomes of an entrant that doesn't reply as it should: `infra` rates nobody, `forfeit` loses the game.

    It crashes by raising an error, hangs by taking more than `patience` seconds for a reply (0: as long as it likes),
    floods by replying more than `longest` characters. After `strikes` matches of a game that it broke (infra), an
    entrant is withdrawn from that game (0: never).
    """

    patience: float = 0.0
    longest: int = 20_000
    crash: str = "infra"
    hang: str = "infra"
    flood: str = "forfeit"
    strikes: int = 3

    def __post_init__(self) -> None:
        within("rules.patience", self.patience, 0)
        within("rules.longest", self.longest, 1)
        within("rules.strikes", self.strikes, 0)
        for deed in ("crash", "hang", "flood"):
            one_of(f"rules.{deed}", getattr(self, deed), OUTCOMES)


@dataclass(frozen=True)
class Guarded:
    """An agent under the rules. What it says is passed on as it is; what it does instead of replying ends the game.

    An agent that blocks the whole process, as by `time.sleep`, can't be interrupted: agents are asynchronous.
    """

    agent: Agent
    rules: Rules = field(default_factory=Rules)

    @property
    def name(self) -> str:
        return self.agent.name

    @property
    def role(self) -> Role:
        return self.agent.role

    async def act(self, context: Context) -> str:
        """The agent's reply. Raises `Forfeit` where the rules say so, else the error itself, which makes it infra."""
        rules = self.rules
        clock = asyncio.timeout(rules.patience or None)
        try:
            async with clock:
                reply = await self.agent.act(context)
        except (CutOff, Forfeit):
            raise
        except Exception as error:
            if isinstance(error, TimeoutError) and clock.expired():
                late = f"no reply within {rules.patience:g} s"
                raise (Forfeit(late) if rules.hang == "forfeit" else TimeoutError(late)) from error
            if rules.crash == "forfeit":
                raise Forfeit(f"{type(error).__name__}: {error}") from error
            raise
        if isinstance(reply, str) and len(reply) > rules.longest:
            flood = f"replied {len(reply)} characters, {rules.longest} are allowed"
            raise Forfeit(flood) if rules.flood == "forfeit" else ValueError(flood)
        return reply
