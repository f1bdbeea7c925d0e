"""Builtins and methods of Python's own types, as far as registration code uses them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pytrace.link.python_values import UNKNOWN, CustomOp, Function, Hop, Native, Op, Partial, Path, Site, Value

Args = Sequence[Value]
Kwargs = Mapping[str, Value]

_STRING_METHODS = frozenset(("split", "replace", "index", "startswith", "endswith", "strip", "lower", "upper"))


def _first(args: Args) -> Value:
    return args[0] if args else UNKNOWN


def _partial(args: Args, kwargs: Kwargs, _site: Site) -> Value:
    return Partial(args[0], args[1:], kwargs) if args else UNKNOWN


def _wraps(args: Args, _kwargs: Kwargs, _site: Site) -> Value:
    """The wrapper passes for what it wraps: that is whose name and place a reader looks for."""
    wrapped = _first(args)
    known = isinstance(wrapped, (Function, CustomOp))
    return Native(lambda inner, _k, _s: wrapped if known else _first(inner))


def _callable(args: Args, _kwargs: Kwargs, _site: Site) -> Value:
    return isinstance(_first(args), (Function, Op, Hop))


def _isinstance(args: Args, _kwargs: Kwargs, _site: Site) -> Value:
    if len(args) != 2 or args[0] is UNKNOWN:
        return UNKNOWN
    kinds = args[1] if type(args[1]) in (list, tuple) else [args[1]]
    answers = [_is_a(args[0], kind.bare if isinstance(kind, Path) else "") for kind in kinds]
    return True if True in answers else UNKNOWN if UNKNOWN in answers else False


def _is_a(value: Value, kind: str) -> Value:
    known = {
        "OpOverload": isinstance(value, Op) and value.overload is not None,
        "OpOverloadPacket": isinstance(value, Op) and value.overload is None,
        "HigherOrderOperator": isinstance(value, Hop),
        "OperatorBase": isinstance(value, (Op, Hop)),
        "str": isinstance(value, str),
        "list": type(value) is list,
        "tuple": type(value) is list,
        "dict": type(value) is dict,
    }
    return known.get(kind, UNKNOWN)


def _str(args: Args, _kwargs: Kwargs, _site: Site) -> Value:
    """``str(op)`` is ``prims.device_put.default``."""
    value = args[0] if args else ""
    if isinstance(value, Op):
        return f"{value.namespace}.{value.base}" + ("" if value.overload is None else f".{value.overload or 'default'}")
    return str(value) if type(value) in (str, int) else UNKNOWN


def _len(args: Args, _kwargs: Kwargs, _site: Site) -> Value:
    return len(args[0]) if args and type(args[0]) in (str, list, dict) else UNKNOWN


def _list(args: Args, _kwargs: Kwargs, _site: Site) -> Value:
    return list(args[0]) if args and type(args[0]) in (list, tuple, set, dict) else []


def _dict(args: Args, kwargs: Kwargs, _site: Site) -> Value:
    return {**(args[0] if args and type(args[0]) is dict else {}), **kwargs}


def _any(args: Args, kwargs: Kwargs, site: Site) -> Value:
    values = _list(args, kwargs, site)
    if True in values:
        return True
    return UNKNOWN if UNKNOWN in values or not args or type(args[0]) is not list else False


def _zip(args: Args, _kwargs: Kwargs, _site: Site) -> Value:
    known = all(type(a) in (list, tuple) for a in args)
    return [list(row) for row in zip(*args, strict=False)] if known else UNKNOWN


def _enumerate(args: Args, kwargs: Kwargs, site: Site) -> Value:
    return [[index, value] for index, value in enumerate(_list(args, kwargs, site))]


BUILTINS: dict[str, Callable[[Args, Kwargs, Site], Value]] = {
    "functools.partial": _partial,
    "functools.wraps": _wraps,
    "builtins.any": _any,
    "builtins.callable": _callable,
    "builtins.dict": _dict,
    "builtins.enumerate": _enumerate,
    "builtins.isinstance": _isinstance,
    "builtins.len": _len,
    "builtins.list": _list,
    "builtins.set": _list,
    "builtins.sorted": _list,
    "builtins.str": _str,
    "builtins.tuple": _list,
    "builtins.zip": _zip,
}


def plain_method(owner: Value, name: str, args: Args) -> Value:
    """A method of a string, list or dictionary."""
    try:
        if type(owner) is str and name in _STRING_METHODS and all(type(a) in (str, int) for a in args):
            return getattr(owner, name)(*args)
        if type(owner) is list and name in ("append", "extend"):
            getattr(owner, name)(*args)
            return None
        if type(owner) is dict:
            return _dict_method(owner, name, args)
    except (TypeError, ValueError, IndexError):
        pass
    return UNKNOWN


def _dict_method(owner: dict[Value, Value], name: str, args: Args) -> Value:
    if name == "items":
        return [[key, value] for key, value in owner.items()]
    if name in ("keys", "values"):
        return list(getattr(owner, name)())
    if name == "get" and args:
        return owner.get(args[0], args[1] if len(args) > 1 else None)
    if name == "update" and args and type(args[0]) is dict:
        owner.update(args[0])
        return None
    return UNKNOWN
