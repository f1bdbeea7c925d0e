"""What function an expression means that is given to ``m.impl`` or ``m.def``.

Kernels are wrapped in many ways before they reach the dispatcher: ``TORCH_FN(f)``, a cast that chooses an overload,
``CppFunction::makeFromBoxedFunction<&f>()``, a plumbing template round a batching rule. The rules follow
``torch/library.h`` and ``torchgen/gen_vmap_plumbing.py``.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from pytrace.extract.cpp_text import angle_close, close_of, split_top, template_arguments, without_templates


class Kernel(NamedTuple):
    """What is registered."""

    target: str  #: the function, as written and without template arguments; "" for a lambda, or when there is none
    how: str  #: "" plain, ``boxed``, ``lambda``, ``plumbing``, ``made`` (target() returns it), ``fallthrough``, …
    key: str = ""  #: the dispatch key that the expression itself gives: ``torch::dispatch(key, f)``
    text: str = ""  #: the expression, when template arguments say more than ``target``


#: Function-like macros and helpers that stand for their (last) argument.
#: TORCH_FN makes a compile-time pointer, SINGLE_ARG protects commas, makeFromUnboxed* wrap for the dispatcher.
_TRANSPARENT = re.compile(
    r"(?:TORCH_FN|TORCH_FN_TYPE|SINGLE_ARG|C10_AS_STRING|std::move"
    r"|(?:::)?(?:torch::)?CppFunction(?:::makeFromUnboxed(?:Function|OnlyRuntimeFunction|Functor|Lambda))?)\s*\("
)
_CAST = re.compile(r"(?:static_cast|reinterpret_cast|const_cast)\s*(?=<)")
_DISPATCH = re.compile(r"(?:(?:::)?torch::)?dispatch(?:_autograd)?\s*\(")
_BOXED = re.compile(
    r"(?:(?:::)?torch::)?(?:CppFunction|c10::KernelFunction|KernelFunction)::makeFromBoxed(?:Function|Kernel)\s*(?=<)"
)
_SPECIAL = re.compile(r"(?:(?:::)?torch::)?(?:CppFunction|c10::KernelFunction|KernelFunction)::make(\w+)\s*\(")
_LAMBDA = re.compile(r"\[[^\[\]]*\]\s*(?:\(|\{|mutable\b)")
_NAME = re.compile(r"(?:::)?[A-Za-z_~][\w]*(?:\s*<|\s*::\s*|[\w~]+)*")

#: ``CppFunction::make…()`` without a function of the caller -> how.
_MADE = {"Fallthrough": "fallthrough", "NamedNotSupported": "not-supported", "AmbiguousAutogradOther": "not-supported"}


def kernel(expression: str) -> Kernel:
    """The function that ``expression`` (one line, without comments) registers.

    Template arguments are dropped from the target, for functions are named without; the one exception is vmap's
    plumbing, ``op_generated_plumbing<decltype(&rule), &rule>``: generated code around ``rule``, which is the kernel.
    """
    text = expression.strip()
    key = ""
    while text:
        if text.startswith("&"):
            text = text[1:].strip()
        elif text.startswith("(") and close_of(text, 0, len(text)) == len(text):
            text = text[1:-1].strip()
        elif found := _DISPATCH.match(text):
            parts = split_top(text[found.end() : close_of(text, found.end() - 1, len(text)) - 1])
            if len(parts) != 2:
                break
            key, text = parts[0].rpartition("::")[2], parts[1]
            if key.startswith("k") and key[1:2].isupper():  # at::kCPU, a DeviceType
                key = key[1:]
        elif found := _TRANSPARENT.match(text):
            text = (split_top(text[found.end() : close_of(text, found.end() - 1, len(text)) - 1]) or [""])[0]
        elif found := _CAST.match(text):
            opening = text.find("(", angle_close(text, found.end(), len(text)))
            if opening < 0:
                break
            text = text[opening + 1 : close_of(text, opening, len(text)) - 1].strip()
        elif found := _BOXED.match(text):
            function = text[found.end() + 1 : angle_close(text, found.end(), len(text)) - 1]
            inner = kernel(function)
            return Kernel(inner.target, inner.how or "boxed", key, inner.text)
        elif found := _SPECIAL.match(text):
            return Kernel("", _MADE.get(found[1], "unknown"), key, "" if found[1] in _MADE else text)
        elif _LAMBDA.match(text):
            return Kernel("", "lambda", key)
        else:
            break
    return _named(text, key)


def _named(text: str, key: str) -> Kernel:
    name = without_templates(text)
    if name.endswith("()"):
        inner = _named(text.removesuffix("()"), key)
        return Kernel(inner.target, inner.how or "made", key, inner.text)
    found = _NAME.match(name)
    if found is None or found.end() != len(name.rstrip()):
        return Kernel("", "unknown" if text else "", key, text)
    target = re.sub(r"\s+", "", name).replace("CPU_CAPABILITY::", "")
    if target.endswith("_generated_plumbing") and "<" in text:
        rule = kernel((split_top(template_arguments(text)) or [""])[-1])
        return Kernel(rule.target, "plumbing", key, rule.text)
    return Kernel(target, "", key, text if "<" in text else "")
