"""Untrusted code is run here, behind the safest fence that this machine has, or not at all."""

from arena.sandbox.remote import Server
from arena.sandbox.sandbox import Sandbox
from arena.sandbox.verdict import Limits, Raised, SandboxUnavailable, Verdict

__all__ = ["Limits", "Raised", "Sandbox", "SandboxUnavailable", "Server", "Verdict"]
