"""Checks arguments of public functions against their annotations before anything runs.

It checks plain annotations only: numbers, strings, paths, truth values, choices (`Literal`), lists
and unions of these, a scope, a reading and a survey. The function checks everything else itself.
"""

from __future__ import annotations

import ast
import functools
import inspect
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from pathlib import Path
from types import FunctionType
from typing import Any, Literal, NamedTuple, ParamSpec, TypeVar, get_args, get_origin

from headscope.arguments import (
    is_whole,
    need_count,
    need_reading,
    need_scope,
    need_seed,
    need_survey,
    need_whole_characters,
    shown,
)
from headscope.errors import BadInput

Given = ParamSpec("Given")
Found = TypeVar("Found")
Kind = TypeVar("Kind", bound=type)
LONGEST_NAME = 255  # bytes, in all common file systems


class _Rule(NamedTuple):
    said: str
    fits: Callable[[Any], bool]


def _is_truth(given: Any) -> bool:
    return type(given).__name__ in ("bool", "bool_")


def _listed(given: Any) -> bool:
    one = isinstance(given, (str, bytes, bytearray)) or getattr(given, "ndim", 1) == 0
    return isinstance(given, Iterable) and not one


def _kind_of(*kinds: type) -> Callable[[Any], bool]:
    return lambda given: isinstance(given, kinds)


def _number(given: Any) -> bool:
    return isinstance(given, Real) and not _is_truth(given)


def _two_numbers(given: Any) -> bool:
    return _listed(given) and len(given) == 2 and all(map(is_whole, given))


def _is_among(values: tuple[str, ...], given: Any) -> bool:
    return isinstance(given, str) and given in values


_PAIR = _Rule("two whole numbers", _two_numbers)
_TEXT = _Rule("a string", _kind_of(str))
_LIST = _Rule("a list", _listed)
_NAMES: dict[str, _Rule] = {
    "int": _Rule("a whole number", is_whole),
    "float": _Rule("a number", _number),
    "str": _TEXT,
    "bool": _Rule("True or False", _is_truth),
    "ProgressCallback": _Rule("a function", callable),
    "Path": _Rule("a path", _kind_of(os.PathLike)),
    "Kind": _TEXT,  # the reading or the result says which kinds it has
    "Mapping": _Rule("a mapping", _kind_of(Mapping)),
    "PathLike": _Rule("a path", _kind_of(os.PathLike)),
    **dict.fromkeys(("Sequence", "Collection", "Iterable", "list", "tuple"), _LIST),
}

_NEEDED: dict[str, Callable[[Any], None]] = {
    "Scope": need_scope,
    "Reading": need_reading,
    "Survey": need_survey,
}


def checked_methods(kind: Kind) -> Kind:
    """The class, with arguments checked in every public method that it defines."""
    for name, method in list(vars(kind).items()):
        if name.startswith("_"):
            continue
        if isinstance(method, FunctionType):
            setattr(kind, name, checked(method))
        elif isinstance(method, (classmethod, staticmethod)):
            wraps: Any = type(method)  # pyright: ignore[reportUnknownVariableType]
            setattr(kind, name, wraps(checked(method.__func__)))
    return kind


def checked(function: Callable[Given, Found]) -> Callable[Given, Found]:
    """The function, with an error for every argument that its annotation rules out."""
    signature, rules = inspect.signature(function), rules_of(function)
    needed = {
        name: _NEEDED[parameter.annotation]
        for name, parameter in signature.parameters.items()
        if parameter.annotation in _NEEDED
    }
    if not rules and not needed:
        return function

    @functools.wraps(function)
    def call(*args: Given.args, **named: Given.kwargs) -> Found:
        try:
            bound = signature.bind(*args, **named)
        except TypeError:
            return function(*args, **named)  # Python's own sentence
        for name, value in bound.arguments.items():
            if name == "seed" and value is not None:
                need_seed(value)
            elif name in ("n", "copies"):
                need_count(value, name)
            if name in needed:
                needed[name](value)
            rule = rules.get(name)
            if rule is not None and not any(_fits(one, value) for one in rule):
                said = " or ".join(dict.fromkeys(one.said for one in rule if one.said != "None"))
                raise BadInput(f"{name}= is {said}, not {shown(value)}.")
            if rule is not None and isinstance(value, (str, os.PathLike)):
                _need_usable(name, value, any(one.said == "a path" for one in rule))
            elif rule is not None and _NAMES["int"] in rule and is_whole(value):
                whole: Any = value
                bound.arguments[name] = operator.index(whole)  # pandas takes no tensor
            elif _is_truth(value):
                bound.arguments[name] = bool(value)
        return function(*bound.args, **bound.kwargs)

    return call


def rules_of(function: Callable[..., Any]) -> dict[str, tuple[_Rule, ...]]:
    """The rules of each argument that is checked."""
    plain: Any = inspect.unwrap(function)
    known: Mapping[str, Any] = plain.__globals__
    return {
        name: rule
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        and isinstance(parameter.annotation, str)
        and (rule := _of(_parsed(parameter.annotation), known)) is not None
    }


def _need_usable(name: str, value: Any, is_path: bool) -> None:
    """Text that can be written, or a name that a file can have."""
    if not is_path:
        need_whole_characters(value, f"{name}=")
        return
    try:
        longest = max(len(os.fsencode(part)) for part in ("", *Path(value).parts))
    except UnicodeEncodeError:
        longest = LONGEST_NAME + 1
    if "\0" in os.fspath(value) or longest > LONGEST_NAME:
        raise BadInput(f"{name}= cannot be a file name: {shown(value)}.")


def _fits(rule: _Rule, value: Any) -> bool:
    try:
        return bool(rule.fits(value))
    except Exception:  # text is not an index, and an array is not one number
        return False


@functools.cache
def _parsed(annotation: str) -> ast.expr:
    return ast.parse(annotation, mode="eval").body


def _of(node: ast.expr, known: Mapping[str, Any]) -> tuple[_Rule, ...] | None:
    """One rule for each part of a union; None if a part is not checked."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        left, right = _of(node.left, known), _of(node.right, known)
        return None if left is None or right is None else (*left, *right)
    if isinstance(node, ast.Constant) and node.value is None:
        return (_Rule("None", _kind_of(type(None))),)
    if isinstance(node, ast.Subscript):
        if ast.unparse(node) == "tuple[int, int]":
            return (_PAIR,)
        if ast.unparse(node.value) == "Literal":
            values = ast.literal_eval(node.slice)
            return (_choice(values if isinstance(values, tuple) else (values,)),)
        node = node.value
    if isinstance(node, ast.Attribute):  # os.PathLike
        node = ast.Name(node.attr)
    if isinstance(node, ast.Name):
        if get_origin(named := known.get(node.id)) is Literal:
            return (_choice(get_args(named)),)
        if node.id in _NAMES:
            return (_NAMES[node.id],)
    return None


def _choice(values: tuple[str, ...]) -> _Rule:
    *most, last = map(repr, values)
    said = f"{', '.join(most)} or {last}" if most else last
    return _Rule(said, functools.partial(_is_among, values))
