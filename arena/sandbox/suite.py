"""A leaf that runs tests of a solution which lives in another leaf: only values and opaque handles come over."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Mapping
from types import CodeType, ModuleType
from typing import Any, NoReturn

from arena.sandbox import channel
from arena.sandbox.collect import SOURCE, NoTests, collect
from arena.sandbox.wire import decode, encode

# Raised where nothing is iterated over, they would end what the test iterates over, unseen: all(map(f, ...)) is true.
ENDS = ("StopIteration", "StopAsyncIteration")


def _refuse(*_: object) -> NoReturn:
    raise TypeError("an object of the solution is opaque: compare what its methods return")


class SolutionError(Exception):
    """The solution raised something that isn't a builtin exception, or answered nonsense.

    A solution may call an exception what tests take for a function, so instances have no truth and equal nothing.
    """

    __eq__ = __ne__ = __bool__ = _refuse
    __hash__ = Exception.__hash__


class Handle:
    """An object in the solution's process: it has attributes and methods, but can't be compared or take part in logic.

    A solution could otherwise return an object that equals everything.
    """

    __slots__ = ("_number", "_remote")

    def __init__(self, number: int, remote: Remote) -> None:
        self._number = number
        self._remote = remote

    def __getattr__(self, name: str) -> Any:
        return self._remote.ask({"of": self._number, "get": name})

    def _call(self, method: str, *args: Any) -> Any:
        return self._remote.call({"of": self._number, "get": method}, args, {})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._remote.call({"of": self._number}, args, kwargs)

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = _refuse
    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        try:
            length = self._call("__len__")
        except AttributeError:  # list() asks every iterable, and takes no other refusal
            raise TypeError("an object of the solution has no len()") from None
        if type(length) is not int or length < 0:
            raise SolutionError("__len__ returned no length")
        return length

    def __getitem__(self, key: object) -> Any:
        return self._call("__getitem__", key)

    def __setitem__(self, key: object, value: object) -> None:
        self._call("__setitem__", key, value)

    def __iter__(self) -> Any:
        return self._call("__iter__")

    def __next__(self) -> Any:
        return self._call("__next__")


class Remote:
    """The solution as tests see it: a namespace of stand-ins."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.namespace: dict[str, Any] = {}
        self._raises: dict[str, type[Exception]] = {
            name: kind
            for name, kind in vars(builtins).items()
            if isinstance(kind, type) and issubclass(kind, Exception)
        }
        for name, what in names.items():
            if "exception" in what:
                kind = str(what["exception"])
                made = self._raises.setdefault(kind, type(name, (SolutionError,), {}))
                # Another name for a builtin one serves to catch it: what it would make is true, and equals nothing.
                self.namespace[name] = made if name == kind or issubclass(made, SolutionError) else (made,)
            elif "call" in what:
                self.namespace[name] = self._function(name)
            else:
                self.namespace[name] = decode(what["value"])

    def _function(self, name: str) -> Callable[..., Any]:
        return lambda *args, **kwargs: self.call({"name": name}, args, kwargs)

    def call(self, target: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The value that the solution returns; raises what it raised, by the name of the type."""
        return self.ask(target | {"args": encode(args, _number), "kwargs": encode(kwargs, _number)})

    def ask(self, question: dict[str, Any]) -> Any:
        """The value that answers a question; raises what the solution raised, by the name of the type."""
        said = channel.ask(question)
        if type(said) is dict and "value" in said:
            return decode(said["value"], lambda number: Handle(number, self))
        if type(said) is dict and "raised" in said:
            kind, text = str(said["raised"]), str(said.get("text", ""))
            if kind in ENDS and question.get("get") != "__next__":
                raise SolutionError(f"{kind}: {text}")
            raise self._raises.get(kind, SolutionError)(text)
        raise SolutionError("the solution answered nonsense")


def judge(job: Mapping[str, Any]) -> None:
    """Say which tests there are, run them one by one, say of each whether it passed, and then that this is the end."""
    try:
        tests = collect(job["source"])
    except NoTests as error:
        channel.say({"invalid": str(error)})
        return
    channel.say({"tests": [test for test, _ in tests if test is not None]})
    hello = channel.hear()
    if type(hello) is not dict or hello.get("load") is not None:
        return
    names = hello.get("names")
    remote = Remote(names if type(names) is dict else {})
    # A solution that defines `abs` or `all` must not become what the tests judge by, unless they ask for it by name.
    unasked = {name: thing for name, thing in remote.namespace.items() if not hasattr(builtins, name)}
    module = ModuleType("solution")
    module.__dict__.update(remote.namespace, __all__=list(unasked))
    sys.modules["solution"] = module
    space: dict[str, Any] = {"__name__": "tests", "__builtins__": builtins, **unasked}
    broken: dict[str, Any] | None = None
    for test, code in tests:
        failure = broken or _failure(test, code, space)
        if test is None:
            broken = failure  # what the tests rest on didn't work: none of them can pass
        else:
            channel.say({"test": test, "failure": failure})
    channel.say({"end": True})


def _failure(test: str | None, code: CodeType, space: dict[str, Any]) -> dict[str, Any] | None:
    try:
        exec(code, space)
    except BaseException as error:  # noqa: BLE001 - a test may raise anything
        return channel.raised(error, SOURCE)
    return None


def _number(thing: object) -> int:
    if type(thing) is Handle:
        return thing._number
    raise TypeError(f"{type(thing).__name__} can't be given to the solution: it isn't a plain value")
