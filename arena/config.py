"""Configs: a dataclass is the schema, YAML files and `key=value` words fill it, and what comes out is plain."""

from __future__ import annotations

import dataclasses
import difflib
import math
import os
import re
import types
import typing
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import yaml
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

Schema = TypeVar("Schema")


class ConfigError(ValueError):
    """Bad input of a user: `what` is wrong, `where` it stands, the `near`est thing that exists, the `remedy`.

    `key` names the bad key where only whoever read it can tell where it stands.
    """

    def __init__(self, what: str, where: str = "", near: str = "", remedy: str = "", key: str = ""):
        self.what, self.where, self.near, self.remedy, self.key = what, where, near, remedy, key
        super().__init__(": ".join(part for part in (what, where, near and f"did you mean {near}?", remedy) if part))


def nearest(word: str, known: Sequence[str]) -> str:
    """The member of `known` that looks most like `word`, or "" if none does."""
    return next(iter(difflib.get_close_matches(word, known, 1, cutoff=0.5)), "")


# -- values, for the `__post_init__` of a config --------------------------------------------------------------------


def within(
    key: str, value: float, low: float = -math.inf, high: float = math.inf, *, above: bool = False, below: bool = False
) -> None:
    """Refuse a number that isn't finite, or not from `low` to `high`: `above` leaves out `low`, `below` `high`."""
    fits = (
        math.isfinite(value) and (low < value if above else low <= value) and (value < high if below else value <= high)
    )
    if not fits:
        parts = [f"{'above' if above else 'of at least'} {low:g}"] if low > -math.inf else []
        parts += [f"{'below' if below else 'at most'} {high:g}"] if high < math.inf else []
        wanted = f"give a number {' and '.join(parts)}" if parts else "give a finite number"
        raise ConfigError(f"{key} is {value}", remedy=wanted, key=key)


def one_of(key: str, value: str, known: Sequence[str]) -> None:
    """Refuse a word that isn't one of those known."""
    if value not in known:
        near = nearest(value, known)
        raise ConfigError(f"{key} {value!r} not found", "", near and repr(near), f"there are {', '.join(known)}", key)


# -- files ---------------------------------------------------------------------------------------------------------


def library() -> Path:
    """The folder of the configs that come with the package."""
    return Path(import_module("configs").__path__[0])


def names(kind: str = "") -> list[str]:
    """The configs that come with the package, as `train/kuhn_selfplay`; `kind` keeps one folder of them."""
    found = (path.relative_to(library()).with_suffix("").as_posix() for path in library().rglob("*.yaml"))
    return sorted(name for name in found if name.startswith(f"{kind}/" if kind else ""))


def find(name: str, kind: str = "") -> Path:
    """The file of a config, given by its path or by its name: `configs/train/x.yaml`, `train/x`, or `x` of its kind."""
    if name.endswith((".yaml", ".yml")) and Path(name).is_file():
        return Path(name)
    bare = name.removeprefix("configs/").removesuffix(".yaml")
    for known in (bare, f"{kind}/{bare}"):
        if (library() / f"{known}.yaml").is_file() and known in names():
            return library() / f"{known}.yaml"
    shipped = names(kind)
    beside = [str(path) for path in Path(name).parent.glob("*.y*ml") if path.is_file()]
    meant = {**{known.rpartition("/")[2]: known for known in shipped}, **{word: word for word in (*shipped, *beside)}}
    near = meant.get(nearest(bare, list(meant))) or meant.get(nearest(name, beside), "")
    raise ConfigError(f"config {name!r} not found", near=near, remedy=f"there are {', '.join(shipped) or 'none'}")


def _read(path: Path, seen: tuple[Path, ...] = ()) -> list[tuple[str, DictConfig]]:
    """The file as (source, content), after the files that it names as its `base`, which it overlays."""
    where = str(path)
    if path.resolve() in seen:
        raise ConfigError("a config is its own base", where, remedy="remove a base: line from the circle")
    try:
        content = OmegaConf.load(path)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = f"{where}, line {mark.line + 1}, column {mark.column + 1}" if mark else where
        problem = " ".join(str(getattr(error, "problem", None) or error).split())
        raise ConfigError("not YAML", at, remedy=problem) from error
    except UnicodeDecodeError as error:
        raise ConfigError("not text", where, remedy=f"save it as UTF-8 ({error.reason})") from error
    except OmegaConfBaseException as error:
        raise ConfigError(_first_line(error), where) from error
    if not isinstance(content, DictConfig):
        raise ConfigError("a list, not keys and values", where, remedy="write key: value lines")
    if not content:
        raise ConfigError("the config is empty", where, remedy="write key: value lines, or give another file")
    base = content.pop("base", None)
    if base is None:
        return [(where, content)]
    if not isinstance(base, str):
        raise ConfigError(f"base is {base!r}", where, remedy="name one file")
    above = path.parent / base
    if not above.is_file():
        siblings = [other.name for other in sorted(above.parent.glob("*.yaml"))]
        raise ConfigError(f"base {base!r} not found", where, nearest(base, siblings), "it is sought beside this file")
    return [*_read(above, (*seen, path.resolve())), (where, content)]


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


# -- the schema ----------------------------------------------------------------------------------------------------


def keys(schema: Any, prefix: str = "") -> Iterator[str]:
    """Every key of the schema, dotted; what is named by the user stands as `<name>`: `seats.<name>.role`."""
    if dataclasses.is_dataclass(schema):
        hints = typing.get_type_hints(schema)
        for field in dataclasses.fields(schema):
            yield f"{prefix}{field.name}"
            yield from keys(hints[field.name], f"{prefix}{field.name}.")
    elif typing.get_origin(schema) is dict:
        yield from keys(typing.get_args(schema)[1], f"{prefix}<name>.")
    elif typing.get_origin(schema) is list:
        yield from keys(typing.get_args(schema)[0], f"{prefix}<i>.")


def _check(kind: Any, value: Any, key: str, where: str, root: type) -> None:
    """Refuse unknown keys and values of the wrong shape, by name; numbers and enums are left to OmegaConf."""
    if isinstance(value, str) and ("${" in value or value == "???"):
        return
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        kind = next(arg for arg in inner if arg is not type(None))
        if value is not None:
            _check(kind, value, key, where, root)
    elif dataclasses.is_dataclass(kind) or origin is dict:
        if not isinstance(value, Mapping):
            raise ConfigError(f"{key} is {value!r}", where, remedy=f"it holds keys: {key}.name=value")
        hints = typing.get_type_hints(kind) if origin is not dict else {}
        for name, part in value.items():
            path = f"{key}.{name}" if key else str(name)
            if origin is dict:
                _check(inner[1], part, path, where, root)
            elif name in hints:
                _check(hints[name], part, path, where, root)
            else:
                raise ConfigError(f"unknown key {path!r}", where, _nearest_key(path, list(hints), root), _known(hints))
    elif origin is list:
        if not isinstance(value, list):
            raise ConfigError(f"{key} is {value!r}", where, remedy=f"it is a list: {key}=[{value}]")
        for i, part in enumerate(value):
            _check(inner[0], part, f"{key}[{i}]", where, root)
    elif kind is str and not isinstance(value, (str, Enum)):
        raise ConfigError(f"{key} is {value!r} ({type(value).__name__})", where, remedy="it is text: put it in quotes")


def _known(hints: Mapping[str, Any]) -> str:
    return f"the keys here are {', '.join(hints)}"


def _nearest_key(path: str, siblings: Sequence[str], root: type) -> str:
    """The key meant by an unknown one: a sibling that looks like it, or a key of that name elsewhere."""
    parent, _, name = path.rpartition(".")
    near = nearest(name, siblings)
    elsewhere = [key for key in keys(root) if key.rpartition(".")[2] == name]
    if elsewhere and near != name:
        return elsewhere[0]
    return f"{parent}.{near}".lstrip(".") if near else nearest(path, list(keys(root)))


def _kind_at(schema: Any, key: str) -> Any:
    """The type that the schema gives to a dotted key, or None where it has no such key."""
    kind: Any = schema
    for name in key.split("."):
        if dataclasses.is_dataclass(kind):
            kind = typing.get_type_hints(kind).get(name)
        elif typing.get_origin(kind) is dict:
            kind = typing.get_args(kind)[1]
        else:
            return None
    return kind


def _overrides(schema: type, words: Sequence[str]) -> list[tuple[str, DictConfig]]:
    """`key=value` words, each as (source, content); what is typed stays as it is where text is wanted."""
    found = []
    for word in words:
        where = f"command line, {word!r}"
        key, equals, value = word.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"{word!r} is not key=value", "command line", remedy="write it like steps=20")
        if _kind_at(schema, key.strip()) is str and not value.startswith(("'", '"')):
            content = OmegaConf.create({})
            OmegaConf.update(content, key.strip(), value)
        else:
            try:
                content = OmegaConf.from_dotlist([f"{key.strip()}={value}"])
            except (yaml.YAMLError, OmegaConfBaseException) as error:
                raise ConfigError("not a YAML value", where, remedy=_first_line(error)) from error
        found.append((where, content))
    return found


def words(given: Sequence[str]) -> dict[str, Any]:
    """`key=value` words as a plain dict, where there is no schema to hold them against."""
    merged = OmegaConf.merge({}, *(content for _, content in _overrides(dict, given)))
    return {str(key): value for key, value in typing.cast(dict[Any, Any], OmegaConf.to_container(merged)).items()}


# -- in and out ----------------------------------------------------------------------------------------------------


def load(schema: type[Schema], name: str | Path, overrides: Sequence[str] = (), kind: str = "") -> Schema:
    """Read a config by path or by name, overlay `key=value` words, resolve every `${...}`, and build the dataclass.

    Later sources win: the files named by `base:`, the file, then the words in their order. Raises ConfigError, which
    names the key, the source and the nearest match, for whatever doesn't fit the schema.
    """
    path = find(str(name), kind)
    merged: Any = OmegaConf.structured(schema)
    sources = [*_read(path), *_overrides(schema, overrides)]
    for where, content in sources:
        _check(schema, OmegaConf.to_container(content), "", where, schema)
        try:
            merged = OmegaConf.merge(merged, content)
        except (OmegaConfBaseException, TypeError) as error:
            key = getattr(error, "full_key", None)
            raise ConfigError(f"{key}: {_first_line(error)}" if key else _first_line(error), where) from error
    try:
        built = OmegaConf.to_object(merged)
    except ConfigError as error:
        told = [where for where, content in sources if error.key and OmegaConf.select(content, error.key) is not None]
        where = error.where or (told or [str(path)])[-1]
        raise ConfigError(error.what, where, error.near, error.remedy, error.key) from error
    except MissingMandatoryValue as error:
        raise ConfigError(
            f"{error.full_key} has no value", str(path), remedy=f"set it: {error.full_key}=..."
        ) from error
    except OmegaConfBaseException as error:
        raise ConfigError(f"{error.full_key}: {_first_line(error)}", str(path)) from error
    if not isinstance(built, schema):
        raise TypeError(f"{schema.__name__} gave {type(built).__name__}")
    return built


def save(config: Any, path: Path) -> None:
    """Write a whole config as YAML that reloads equal; the file appears at once or not at all."""
    text = OmegaConf.to_yaml(OmegaConf.create(_escaped(dataclasses.asdict(config))))
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)


def _escaped(value: Any) -> Any:
    """Text that looks like a reference is written so that it is read as text again."""
    if isinstance(value, dict):
        return {key: _escaped(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_escaped(part) for part in value]
    return re.sub(r"(\\*)\$\{", r"\1\1\\${", value) if isinstance(value, str) else value


def claim(folder: Path, config: Any, free: Collection[str] = ()) -> None:
    """Note in a run's folder what is run there, unless `refuse_other` raises."""
    refuse_other(folder, config, free)
    save(config, folder / "config.yaml")


def refuse_other(folder: Path, config: Any, free: Collection[str] = ()) -> None:
    """Raise ConfigError if something else was run in this folder, but for keys in `free`."""
    there = folder / "config.yaml"
    if there.is_file():
        changed = difference(load(type(config), there), config)
        bound = [line for line in changed if line.partition(":")[0] not in free]
        if bound:
            remedy = "give --folder another one, or take these back"
            raise ConfigError(f"another config was run here: {'; '.join(bound)}", str(folder), remedy=remedy)


def difference(a: Any, b: Any) -> list[str]:
    """Where two configs of one schema differ, as `key: value of a -> value of b`; empty if they are equal."""
    left, right = dict(_leaves(dataclasses.asdict(a))), dict(_leaves(dataclasses.asdict(b)))
    absent = "(none)"
    changed = [key for key in {**left, **right} if left.get(key, absent) != right.get(key, absent)]
    return [f"{key}: {left.get(key, absent)} -> {right.get(key, absent)}" for key in changed]


def _leaves(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, part in value.items():
            yield from _leaves(part, f"{prefix}.{key}" if prefix else str(key))
    else:
        yield prefix, value
