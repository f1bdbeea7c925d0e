"""What the text before the ``(`` of a call says: a method, a launch, something quiet, a plain name.

The same few texts are most of all callees, so that what was found out is kept per process; it depends on the text
alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from pytrace.extract.cpp_text import Kept, squeeze, template_arguments, without_comments, without_templates, words
from pytrace.extract.cpp_types import UNKNOWN, Form, form_of, member_split

#: Functions of the language, of std and of c10's checks: calling them reaches no function of interest.
_QUIET_CALLS = words("""
    static_cast reinterpret_cast const_cast dynamic_cast sizeof alignof decltype defined __attribute__ alignas
    noexcept static_assert assert printf fprintf malloc free memcpy memset __syncthreads syncthreads threadIdx
""")
_QUIET_PREFIXES = (
    *("std::", "::std::", "TORCH_CHECK", "TORCH_INTERNAL", "TORCH_WARN", "_mm", "__"),
    *("C10_CUDA_KERNEL", "VLOG", "LOG"),
)
#: Methods of containers, smart pointers and of TensorBase that no operator, function or kernel stands behind
#: (aten/src/ATen/templates/TensorBody.h and aten/src/ATen/core/TensorBase.h answer them without dispatching).
QUIET_METHODS = words("""
    data_ptr const_data_ptr mutable_data_ptr size sizes dim strides stride numel defined scalar_type dtype
    device options begin end push_back emplace_back get value has_value c_str str reserve find count empty front
    back first second is_cuda is_cpu is_sparse layout nbytes itemsize element_size key_set unsafeGetTensorImpl
    use_count get_device suggest_memory_format sym_size sym_sizes sym_strides sym_numel sym_stride is_quantized
    is_mkldnn data ndim dtype_or_default insert at clear erase pop_back swap append toTensor load store c10 type
    is_complex is_floating_point guard_int ndimension storage_offset requires_grad has_names value_or rbegin
    rend maybe_get_scalar_type is_contiguous push pop top emplace reset release
""")
_SIMPLE_METHOD = re.compile(r"([A-Za-z_]\w*)(?:\.|->)([A-Za-z_]\w*)$")
_LAUNCH_CALL = re.compile(r"(?:cuda|hip)(?:LaunchKernel\w*|LaunchCooperativeKernel\w*)$")
_MAKE = re.compile(
    r"(?:std::make_unique|std::make_shared|c10::make_intrusive|make_intrusive|std::make_optional|c10::guts::make_unique)$"
)
_MACRO_NAME = re.compile(r"[A-Z][A-Z0-9_]+$")


#: How a callee is read.
PLAIN = 0
METHOD = 1
QUIET = 2  #: reaches nothing of interest
MACRO = 3  #: may be a macro
STD = 4  #: a function of std: what is handed to it may be called
CHECK = 5  #: a check of c10: a Tensor in its message is printed
INNER = 6  #: what another expression returned is called
MAKE = 7  #: constructs the class that is its template argument
LAUNCH = 8  #: cudaLaunchKernel…
DTYPES = 9  #: AT_DISPATCH_…

#: Methods that are told by their text what they give: the strings that name an operator and its overload
#: (aten/src/ATen/core/dispatch/Dispatcher.h). The text of their arguments is kept.
LOOKUPS = frozenset({"findSchemaOrThrow"})


class Callee(NamedTuple):
    """What a text before a ``(`` means."""

    how: int
    name: str = ""  #: without template arguments
    templates: str = ""  #: template arguments
    receiver: Form = UNKNOWN  #: of a method, or what is called when that is no name
    owner: str = ""  #: the class template that it is a static method of
    owner_templates: str = ""  #: that one's template arguments


#: Callees longer than this are chains of calls.
_LONG = 2000
_QUIET = Callee(QUIET)


def _read(text: str) -> Callee:
    if not text:
        return _QUIET
    simple = _SIMPLE_METHOD.match(text)
    if simple is not None:
        name = simple[2]
        return _QUIET if name in QUIET_METHODS else Callee(METHOD, name, "", form_of(simple[1]))
    if len(text) > _LONG:
        # The end of a chain of thousands of lines, ``m.def(…).def(…)…``: nobody asks what it is called on.
        chain = member_split(text)
        return Callee(METHOD, chain[1].strip()) if chain is not None and chain[1].isidentifier() else _QUIET
    text = without_comments(text).rstrip()
    if text[-1] in ")}":
        return Callee(INNER, "", "", form_of(text))
    member = member_split(text) if "." in text or "->" in text else None
    if member is not None:
        receiver, name = member
        templates = template_arguments(name) if "<" in name else ""
        name = without_templates(name.replace("template ", "")).strip()
        return (
            Callee(QUIET) if name in QUIET_METHODS else Callee(METHOD, name, templates, form_of(receiver.strip(), True))
        )
    templates = template_arguments(text) if "<" in text else ""
    if "<" in text or " " in text or "\n" in text or text[0] == ":":
        name = squeeze(without_templates(text)).replace(":: ", "::").replace(" ::", "::").removeprefix("::")
    else:
        name = text
    if name in _QUIET_CALLS or (name.startswith(_QUIET_PREFIXES) and not name.startswith("__dispatch_")):
        if name.startswith("TORCH_"):
            return Callee(CHECK, name)
        if templates and _MAKE.match(name):
            return Callee(MAKE, without_templates(templates), template_arguments(templates))
        return Callee(STD if name.startswith("std::") else QUIET, name)
    if _LAUNCH_CALL.search(name):
        return Callee(LAUNCH, name, templates)
    if name.startswith(("AT_DISPATCH_", "_AT_DISPATCH_")):
        return Callee(DTYPES, name)
    if _MACRO_NAME.match(name) and not name.startswith(("AT_DISPATCH", "AT_PRIVATE")):
        return Callee(MACRO, name, templates)
    if text[0] == ":" and "::" not in name:
        return Callee(PLAIN, f"::{name}", templates)  # ::min is C's or CUDA's, whatever at:: has of this name
    if "<" in text and not templates:
        head = squeeze(text).rpartition("::")[0]
        given = template_arguments(head)
        if given:
            return Callee(PLAIN, name, "", UNKNOWN, without_templates(head).removeprefix("::"), given)
    return Callee(PLAIN, name, templates)


#: How a text, as written, is to be read as a callee.
callee_of: Callable[[str], Callee] = Kept(_read).__getitem__
