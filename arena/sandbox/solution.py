"""A leaf that runs a solution: it answers calls listed beforehand, or those that tests in another leaf make."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from arena.sandbox import channel
from arena.sandbox.wire import NotPlain, decode, encode

SOURCE = "<solution>"
SHOWN = 200  # names of a solution that its tests may use


def answer(job: Mapping[str, Any]) -> None:
    """Call the entry with each of the listed arguments, and say what it returned or raised."""
    try:
        entry = getattr(_module(job["source"]), job["entry"])
    except BaseException as error:  # noqa: BLE001 - also sys.exit() while importing
        channel.say({"load": channel.raised(error, SOURCE)})
        return
    channel.say({"load": None})
    for arguments in job["calls"]:
        try:
            said = {"value": encode(entry(*decode(arguments)))}
        except BaseException as error:  # noqa: BLE001 - a solution may raise anything
            said = channel.raised(error, SOURCE)
        channel.say(said)


def serve(job: Mapping[str, Any]) -> None:
    """Show the names of the solution, then answer questions until nobody asks any more; objects stay here."""
    kept: list[object] = []
    try:
        module = _module(job["source"])
    except BaseException as error:  # noqa: BLE001 - a solution may raise anything
        channel.say({"load": channel.raised(error, SOURCE)})
        return

    def keep(thing: object) -> int:
        kept.append(thing)
        return len(kept) - 1

    channel.say({"load": None, "names": _names(module)})
    while True:
        question = channel.hear()
        try:
            thing = getattr(module, question["name"]) if "name" in question else kept[question["of"]]
            if "get" in question:
                thing = getattr(thing, question["get"])
            if "args" in question:
                arguments = decode(question["args"], kept.__getitem__)
                named = decode(question["kwargs"], kept.__getitem__)
                thing = thing(*arguments, **named)
            said = {"value": encode(thing, keep)}
        except BaseException as error:  # noqa: BLE001 - a solution may raise anything
            said = channel.raised(error, SOURCE)
        channel.say(said)


def _module(source: str) -> ModuleType:
    module = ModuleType("solution")
    sys.modules["solution"] = module
    exec(compile(source, SOURCE, "exec"), module.__dict__)
    return module


def _names(module: ModuleType) -> dict[str, Any]:
    """What tests may use: functions and classes by name, exceptions to be caught, constants by value."""
    names: dict[str, Any] = {}
    for name, thing in list(vars(module).items()):
        if name.startswith("__") or isinstance(thing, ModuleType):
            continue
        if isinstance(thing, type) and issubclass(thing, Exception):
            names[name] = {"exception": thing.__name__}
        elif callable(thing):
            names[name] = {"call": True}
        else:
            try:
                names[name] = {"value": encode(thing)}
            except NotPlain:
                continue
    return dict(list(names.items())[:SHOWN])
