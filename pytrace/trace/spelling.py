"""What people type, taken apart: pure text, no index.

Kernel names come from profilers, operators from error messages, Python names from code; this module removes what
never is part of a name in the index (template arguments, parameters, return types, anonymous namespaces, quotes).
The dialects of demanglers in full are the business of ``pytrace.names``.
"""

from __future__ import annotations

import re

#: Spellings of an anonymous namespace: demanglers', nsys', the mangled form of old nvcc (with the file inside).
_ANONYMOUS = re.compile(r"\(anonymous namespace\)::|<unnamed>::|\{anonymous\}::|_GLOBAL__N__\w+::|_INTERNAL_\w+?::")
#: The heads of structured kernels (aten/src/ATen/native/README.md), as the source and our own trees spell them.
_STRUCTURED = re.compile(r"TORCH_(IMPL|META|PRECOMPUTE_META)_FUNC2?\s*\(\s*(\w+)\s*(?:,\s*(\w+)\s*)?\)")
#: An operator's schema, as the YAML and PyTorch's messages print it.
_SCHEMA = re.compile(r"((?:\w+::)?\w+(?:\.\w+)?)\(.*\)\s*->.*", re.DOTALL)
_QUOTES = "`'\" \t\r\n"
#: Short names that PyTorch code gives to its modules, by custom (`import torch.nn.functional as F`).
_PYTHON_ALIASES = {
    "F": "torch.nn.functional",
    "nn": "torch.nn",
    "optim": "torch.optim",
    "Tensor": "torch.Tensor",
    "_VF": "torch._VF",
    "_C": "torch._C",
    "linalg": "torch.linalg",
    "fft": "torch.fft",
    "special": "torch.special",
}


def clean(text: str) -> str:
    """The text without quotes, a trailing ``()`` and blanks around it."""
    text = text.strip(_QUOTES)
    if text.endswith("()") and not text.endswith("operator()"):
        text = text[:-2]
    return text.strip(_QUOTES)


def cpp_name(text: str) -> str:
    """The qualified C++ name in a demangled signature or an Itanium-mangled symbol.

    >>> cpp_name("void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float> >(int, T)")
    'at::native::vectorized_elementwise_kernel'
    """
    text = clean(text)
    structured = _STRUCTURED.fullmatch(text)
    if structured:
        names = "_".join(filter(None, structured.group(2, 3)))
        return f"structured_{names}::{'impl' if structured[1] == 'IMPL' else 'meta'}"
    if text.startswith(("_ZN", "__Z")) or re.match(r"_Z\d", text):
        return _demangle_path(text)
    text = _ANONYMOUS.sub("", text)
    text = text.replace("CPU_CAPABILITY::", "").replace("DEFAULT::", "").replace("AVX2::", "").replace("AVX512::", "")
    flat = _outside_brackets(text)
    call = "operator()" in flat
    flat = flat.replace("operator()", "operator\0")
    flat = flat.partition("(")[0].strip()
    if " " in flat and "operator" not in flat:
        flat = flat.split()[-1]
    flat = flat.replace("operator\0", "operator()") if call else flat
    return flat.strip(":*& ")


def _outside_brackets(text: str) -> str:
    """``text`` without what stands in angle brackets (nested ones too); ``operator<`` and ``->`` keep theirs."""
    if "<" not in text:
        return text
    out: list[str] = []
    depth = 0
    for part in re.split(r"(operator(?:<<=?|>>=?|<=>?|>=?|<|->)|->|<|>)", text):
        if part == "<":
            depth += 1
        elif part == ">":
            depth = max(0, depth - 1)
        elif depth == 0:
            out.append(part)
    return "".join(out)


def template_names(text: str) -> list[str]:
    """The qualified names inside the template arguments of a demangled name, outermost first, without repeats.

    They say which functor or host function a generic kernel was made for.
    """
    start = text.find("<")
    if start < 0 or text.startswith("_Z"):
        return []
    inner = _ANONYMOUS.sub("", text[start + 1 :])
    found = re.findall(r"[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*", inner)
    plain = {"int", "float", "double", "long", "unsigned", "bool", "char", "short", "const", "void", "lambda"}
    return list(dict.fromkeys(name for name in found if name not in plain and not name.startswith("std::")))


def _demangle_path(symbol: str) -> str:
    """The nested name of an Itanium-mangled symbol: ``_ZN2at6native3fooILi4EEvi`` -> ``at::native::foo``."""
    rest = symbol.lstrip("_")[1:]
    rest = re.sub(r"^N?[KVrRO]*", "", rest)
    parts: list[str] = []
    while match := re.match(r"(?:St)?(\d+)", rest):
        size = int(match.group(1))
        parts.append(rest[match.end() : match.end() + size])
        rest = rest[match.end() + size :]
    return "::".join(part for part in parts if part and not part.startswith("_GLOBAL__N"))


def python_names(text: str) -> list[str]:
    """The full Python names that ``text`` may be short for, likeliest first.

    >>> python_names("F.linear")
    ['torch.nn.functional.linear', 'F.linear']
    """
    head, dot, rest = text.partition(".")
    names = []
    if head in _PYTHON_ALIASES and dot:
        names.append(f"{_PYTHON_ALIASES[head]}.{rest}")
    names.append(text)
    if head != "torch":
        names.append(f"torch.{text}")
        if dot and rest.isidentifier():
            names.append(f"torch.Tensor.{rest}")  # `x.add_`: a method of some tensor
    return names if dot else names[:1]


def op_names(text: str) -> list[tuple[str, str | None, str | None]]:
    """The operators that ``text`` may name: (namespace or "" for any, base, overload or None for every one).

    Understands ``add``, ``add.Tensor``, ``aten::add.Tensor``, ``aten.add.Tensor``, ``torch.ops.aten.add.default``,
    ``at::add``, ``at::_ops::add_Tensor::call``, ``at::Tensor::add_``.
    """
    text = clean(text)
    schema = _SCHEMA.fullmatch(text)
    text = schema[1] if schema else text
    found: list[tuple[str, str | None, str | None]] = []
    if text.startswith("torch.ops."):
        parts = text.split(".")[2:]
        if len(parts) >= 2:
            overload = parts[2] if len(parts) > 2 else None
            found.append((parts[0], parts[1], "" if overload == "default" else overload))
        return found
    if text.startswith(("at::_ops::", "_ops::")):
        name = text.split("_ops::")[1].split("::")[0]
        base, _, overload = name.rpartition("_")
        return [("", name, None), ("", base, overload)]
    match = re.fullmatch(r"(?:at::(?:Tensor(?:Base)?|indexing)?(?:::)?|Tensor::)(\w+)", text)
    if match:
        name = match.group(1)
        found.append(("aten", name, None))
        for tail in ("_outf", "_out", "_symint"):
            if name.endswith(tail):
                found.append(("aten", name.removesuffix(tail), None))
        return found
    namespace, colons, rest = text.rpartition("::")
    if colons and "::" in namespace:
        return []
    base, dot, overload = rest.partition(".")
    if not re.fullmatch(r"\w+", base) or (dot and not re.fullmatch(r"\w*", overload)):
        match = re.fullmatch(r"(aten|prims|quantized|_c10d_functional)\.(\w+)(?:\.(\w+))?", text)
        if match:
            last = match.group(3)
            return [(match.group(1), match.group(2), "" if last == "default" else last)]
        return []
    if dot and overload == "default":
        overload = ""
    found.append((namespace, base, overload if dot else None))
    if dot and not colons:
        # `aten.mm` and `prims.add`: a namespace, as torch.ops writes it without its head
        found.append((base, overload, None))
    return found
