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


class SolutionError(Exception):
    """The solution raised something that isn't a builtin exception, or answered nonsense."""


class Handle:
    """An object in the solution's process: its methods can be called, but it can't be compared or take part in logic.

    A solution could otherwise return an object that equals everything.
    """

    __slots__ = ("_number", "_remote")

    def __init__(self, number: int, remote: Remote) -> None:
        self._number = number
        self._remote = remote

    def __getattr__(self, method: str) -> Callable[..., Any]:
        return lambda *args, **kwargs: self._remote.call({"of": self._number, "method": method}, args, kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._remote.call({"of": self._number}, args, kwargs)

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError("an object of the solution is opaque: compare what its methods return")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = _refuse
    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        length = self.__getattr__("__len__")()
        if type(length) is not int or length < 0:
            raise SolutionError("__len__ returned no length")
        return length

    def __getitem__(self, key: object) -> Any:
        return self.__getattr__("__getitem__")(key)

    def __setitem__(self, key: object, value: object) -> None:
        self.__getattr__("__setitem__")(key, value)

    def __iter__(self) -> Any:
        return self.__getattr__("__iter__")()

    def __next__(self) -> Any:
        return self.__getattr__("__next__")()


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
                made = self._raises.setdefault(str(what["exception"]), type(name, (SolutionError,), {}))
                self.namespace[name] = made
            elif "call" in what:
                self.namespace[name] = self._function(name)
            else:
                self.namespace[name] = decode(what["value"])

    def _function(self, name: str) -> Callable[..., Any]:
        return lambda *args, **kwargs: self.call({"name": name}, args, kwargs)

    def call(self, target: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The value that the solution returns; raises what it raised, by the name of the type."""
        said = channel.ask(target | {"args": encode(args, _number), "kwargs": encode(kwargs, _number)})
        if type(said) is dict and "value" in said:
            return decode(said["value"], lambda number: Handle(number, self))
        if type(said) is dict and "raised" in said:
            raise self._raises.get(str(said["raised"]), SolutionError)(str(said.get("text", "")))
        raise SolutionError("the solution answered nonsense")


def judge(job: Mapping[str, Any], source: str) -> None:
    """Say which tests there are, run them one by one, say of each whether it passed, and then that this is the end."""
    try:
        tests = collect(source)
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
