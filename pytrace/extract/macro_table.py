"""What PyTorch's macros mean to a parser that does not preprocess: one table, a reason per row.

The C++ grammar sees a macro as an ordinary identifier or call. Most macros are harmless that way: ``TORCH_CHECK(x)``
is a call. The rows below are those that are not, because what they stand for is no expression: an attribute between
other words, a piece of a statement, a pragma. ``normalise`` rewrites them (same length) before the parse.

Names that follow PyTorch's, CUTLASS's or QNNPACK's *naming rule* need no row: ``ATTRIBUTE_SUFFIX`` catches them.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Action:
    """What ``normalise`` does with a macro."""

    BLANK = "blank"  #: replace the word by spaces
    ATTRIBUTE = "attribute"  #: the same, where a declaration follows
    DEVICE = "device"  #: the word becomes ``__device__``
    BLANK_CALL = "blank-call"  #: replace the word, and the parenthesised arguments if some follow, by spaces
    BLANK_ARGS = "blank-args"  #: keep the word and its parentheses, blank the arguments
    SEPARATE = "separate"  #: behind a ``)``: a comma takes the blank before it
    UNWRAP = "unwrap"  #: ``NAME(x)`` becomes ``x``
    CODE = "code"  #: ``NAME(jiterator_code(code), string)`` becomes ``code``
    LOOP = "loop"  #: ``NAME(i, n) {`` becomes ``while (i, n) {``
    CATCH = "catch"  #: ``NAME(statement)`` becomes ``catch (...) {}``
    STRUCT = "struct"  #: ``NAME(…)`` becomes ``struct``
    FIELD = "field"  #: ``NAME(type, name)`` becomes ``type  name``
    NONE = ""  #: leave it alone


class Row(NamedTuple):
    """One macro: its name, what to do, and why (with the file of the tree that defines it)."""

    name: str
    action: str
    reason: str


ROWS: tuple[Row, ...] = (
    # attributes whose names do not follow ATTRIBUTE_SUFFIX
    Row("C10_RESTRICT", Action.BLANK, "pointer qualifier, c10/macros/Macros.h"),
    Row("C10_UNUSED", Action.BLANK, "[[maybe_unused]], c10/macros/Macros.h"),
    Row("C10_USED", Action.BLANK, "__attribute__((used)), c10/macros/Macros.h"),
    Row("C10_NODISCARD", Action.BLANK, "[[nodiscard]], c10/macros/Macros.h"),
    Row("C10_FALLTHROUGH", Action.BLANK, "[[fallthrough]], c10/macros/Macros.h"),
    Row("C10_API_ENUM", Action.BLANK, "visibility of an enum, c10/macros/Export.h"),
    Row("C10_HIDDEN", Action.BLANK, "visibility, c10/macros/Export.h"),
    Row("VISIBILITY_HIDDEN", Action.BLANK, "visibility, torch/csrc/jit/python/pybind_utils.h"),
    Row("C10_WARP_SIZE_ATTR", Action.BLANK, "attribute, c10/macros/Macros.h"),
    Row("C10_ALWAYS_INLINE_UNLESS_MOBILE", Action.BLANK, "inline, c10/macros/Macros.h"),
    Row("C10_ALWAYS_INLINE_ATTRIBUTE", Action.BLANK, "attribute after a lambda's parameters, c10/macros/Macros.h"),
    Row("C10_STARTUP_GUARD", Action.BLANK, "attribute, c10/macros/Macros.h"),
    Row("C10_ERASE", Action.BLANK, "always-inline and hidden, c10/macros/Export.h"),
    Row("GPU_LAMBDA", Action.BLANK, "__host__ __device__ of a lambda, c10/macros/Macros.h"),
    Row("MAYBE_UNUSED", Action.BLANK, "[[maybe_unused]], torch/csrc"),
    Row("SLEEF_CONST", Action.BLANK, "const or nothing, aten/src/ATen/cpu/vec/vec_base.h"),
    Row("SLEEF_CONST_OLD", Action.BLANK, "const or nothing, aten/src/ATen/cpu/vec/vec_base.h"),
    Row("FORCE_INLINE_APPLE", Action.BLANK, "inline, c10/util/complex.h"),
    Row("UINT128_CONSTEXPR", Action.BLANK, "constexpr, c10/util/int128.h"),
    Row("FLATBUFFERS_MANUALLY_ALIGNED_STRUCT", Action.STRUCT, "an aligned struct, flatbuffers/base.h"),
    Row("FLATBUFFERS_FINAL_CLASS", Action.BLANK, "final, flatbuffers/base.h"),
    Row("NLOHMANN_JSON_NAMESPACE_BEGIN", Action.BLANK, "opens a namespace, nlohmann/json.hpp"),
    Row("NLOHMANN_JSON_NAMESPACE_END", Action.BLANK, "closes it, nlohmann/json.hpp"),
    Row("TORCH_FORMAT_FUNC", Action.BLANK_CALL, "format attribute, torch/csrc/Exceptions.h"),
    Row("VKAPI_ATTR", Action.BLANK, "calling convention, vulkan.h"),
    Row("VKAPI_CALL", Action.BLANK, "calling convention, vulkan.h"),
    Row("MAYBE_GLOBAL", Action.BLANK, "nothing or __global__"),
    Row("CACHE_ALIGN", Action.BLANK, "alignment of a variable, c10/util and aten/src/ATen/native/cpu"),
    Row("PYBIND11_CONSTINIT", Action.BLANK, "constinit, pybind11/detail/common.h"),
    Row("VK_KERNEL_ATTR", Action.BLANK, "attribute"),
    Row("CUTLASS_DEVICE", Action.DEVICE, "inline __device__, cutlass/cutlass.h"),
    # statements that are pragmas or halves of a block
    Row("CUTLASS_PRAGMA_UNROLL", Action.BLANK, "#pragma unroll, cutlass/cutlass.h"),
    Row("CUTLASS_PRAGMA_NO_UNROLL", Action.BLANK, "#pragma unroll 1, cutlass/cutlass.h"),
    Row("CUTLASS_GEMM_LOOP", Action.BLANK, "#pragma unroll 1, cutlass/cutlass.h"),
    Row("HANDLE_TH_ERRORS", Action.BLANK, "opens a try block, closed by END_…, torch/csrc/Exceptions.h"),
    Row("END_HANDLE_TH_ERRORS", Action.BLANK, "closes the try block, torch/csrc/Exceptions.h"),
    Row("END_HANDLE_TH_ERRORS_PYBIND", Action.BLANK, "closes the try block, torch/csrc/Exceptions.h"),
    Row("END_HANDLE_TH_ERRORS_RET", Action.BLANK_CALL, "closes the try block, torch/csrc/Exceptions.h"),
    Row("C10_CLANG_DIAGNOSTIC_PUSH", Action.BLANK_CALL, "pragma, c10/macros/Macros.h"),
    Row("C10_CLANG_DIAGNOSTIC_POP", Action.BLANK_CALL, "pragma, c10/macros/Macros.h"),
    Row("C10_CLANG_DIAGNOSTIC_IGNORE", Action.BLANK_CALL, "pragma, c10/macros/Macros.h"),
    Row("C10_DIAGNOSTIC_PUSH_AND_IGNORED_IF_DEFINED", Action.BLANK_CALL, "pragma, c10/macros/Macros.h"),
    Row("C10_DIAGNOSTIC_POP", Action.BLANK_CALL, "pragma, c10/macros/Macros.h"),
    # attributes with arguments
    Row("C10_LAUNCH_BOUNDS_0", Action.BLANK, "__launch_bounds__ with defaults, c10/macros/Macros.h"),
    Row("C10_LAUNCH_BOUNDS_1", Action.BLANK_CALL, "__launch_bounds__, c10/macros/Macros.h"),
    Row("C10_LAUNCH_BOUNDS_2", Action.BLANK_CALL, "__launch_bounds__, c10/macros/Macros.h"),
    Row("C10_DEPRECATED", Action.BLANK, "[[deprecated]], c10/util/Deprecated.h"),
    Row("C10_DEPRECATED_MESSAGE", Action.BLANK_CALL, "[[deprecated(…)]], c10/util/Deprecated.h"),
    Row("RESTRICT_STATIC", Action.BLANK, "restrict static, of an array parameter, qnnpack's common.h"),
    Row("PYTORCH_QNNP_LIKELY", Action.BLANK, "its argument, also in `if PYTORCH_QNNP_LIKELY(…)`, qnnpack's common.h"),
    Row("PYTORCH_QNNP_UNLIKELY", Action.BLANK, "its argument, qnnpack's common.h"),
    Row("PYTORCH_QNNP_ALIGN", Action.BLANK_CALL, "alignment, qnnpack's common.h"),
    Row("CATCH_ALL_ERRORS", Action.CATCH, "catch clauses, torch/csrc/Exceptions.h"),
    Row("CATCH_CORE_ERRORS", Action.CATCH, "catch clauses, torch/csrc/Exceptions.h"),
    Row("CATCH_TH_ERRORS", Action.CATCH, "catch clauses, torch/csrc/Exceptions.h"),
    # transparent
    Row("AT_WRAP", Action.UNWRAP, "its arguments, aten/src/ATen/Dispatch_v2.h"),
    Row("NO_ROCM", Action.UNWRAP, "its argument on CUDA, aten/src/ATen/cuda/cub.cuh"),
    Row("C10_LIKELY", Action.BLANK, "its argument, also in `if C10_LIKELY (…)`, c10/macros/Macros.h"),
    Row("C10_UNLIKELY", Action.BLANK, "its argument, c10/macros/Macros.h"),
    Row("ROCM_HIPCUB", Action.UNWRAP, "its argument on CUDA, aten/src/ATen/cuda/cub.cuh"),
    # members
    Row("FORWARD_HAS_DEFAULT_ARGS", Action.BLANK_CALL, "two methods about defaults, torch/nn/modules/container/any.h"),
    Row("PYBIND11_TYPE_CASTER", Action.BLANK_CALL, "members of a type caster, pybind11/cast.h"),
    Row("TORCH_ARG", Action.FIELD, "a field and its accessors, torch/csrc/api/include/torch/arg.h"),
)

#: Where the tail of a macro's name begins: ``C10_HOST_DEVICE`` has ``_HOST_DEVICE``.
TAIL = re.compile(rb"_[A-Z][A-Z0-9_]*")

BY_NAME: dict[bytes, Row] = {row.name.encode(): row for row in ROWS}

#: Words without the ``_A`` by which the others are found; they are searched one by one, so there are few.
OTHER_WORDS: tuple[tuple[bytes, str, str], ...] = (
    (b"__declspec", Action.BLANK_CALL, "attribute of MSVC"),
    (b"__MATH_FUNCTIONS_DECL__", Action.BLANK, "inline __device__, c10/cuda/CUDAMathCompat.h"),
    (b"__at_align__", Action.BLANK, "alignment of a buffer, aten/src/ATen/cpu/vec/vec_base.h"),
    (b"__FORCE_INLINE", Action.BLANK, "inline, aten/src/ATen/cpu/vec"),
    (b"__attribute__", Action.BLANK_CALL, "GNU attribute; the grammar knows it in some places only"),
    (b"__align__", Action.BLANK_CALL, "CUDA alignment"),
    (b"RESTRICT", Action.BLANK, "pointer qualifier, aten/src/ATen/native/quantized, caffe2/perfkernels"),
    (b"jiterator_stringify", Action.BLANK_ARGS, "its argument is source text, aten/src/ATen/native/cuda/jit_utils.h"),
    (
        b"jiterator_also_stringify_as",
        Action.CODE,
        "its argument is code and source text, aten/src/ATen/jiterator_macros.h",
    ),
)

#: The same, for ``repair``.
RARE_WORDS: tuple[tuple[bytes, str, str], ...] = (
    (b"FUNCAPI", Action.ATTRIBUTE, "__host__ __device__, ATen/native/sparse/SparseBinaryOpIntersectionCommon.h"),
    (b"INLINE", Action.ATTRIBUTE, "inline, ATen/native/sparse/SparseBinaryOpIntersectionCommon.h"),
    (b"UNUSED", Action.ATTRIBUTE, "__attribute__((unused)), torch/csrc/autograd/profiler_kineto.cpp"),
    (b"CALLBACK", Action.ATTRIBUTE, "Windows calling convention"),
    (b"CUDAAPI", Action.ATTRIBUTE, "calling convention of the CUDA driver API, cuda.h"),
)

#: Macros of these endings are attributes in every project that PyTorch is made of: visibility (``TORCH_API``),
#: inlining (``C10_ALWAYS_INLINE``), where a function runs (``CUTLASS_HOST_DEVICE``).
ATTRIBUTE_SUFFIX = re.compile(
    rb"\w+_(?:API|EXPORT|IMPORT|INLINE|NOINLINE|DEVICE|HOST|HOST_DEVICE|PRIVATE|PUBLIC|INTERNAL|HIDDEN|UNUSED|ATTRIBUTE"
    rb"|VISIBILITY)"
)


#: What must follow such a word: what it is an attribute of. A value (``CUBLAS_POINTER_MODE_DEVICE``) is followed by
#: punctuation.
ATTRIBUTE_CONTEXT = re.compile(rb"\s*(?:[A-Za-z_~\[]|::|$)")


_TAILS = frozenset(match[0] for name in BY_NAME if (match := TAIL.search(name)) is not None)


def may_act_on(tail: bytes) -> bool:
    """Whether a macro whose name has this tail can be one that ``action`` knows."""
    return tail in _TAILS or action(b"X" + tail) != Action.NONE


def action(word: bytes) -> str:
    """What to do with this ALL_CAPS word; ``Action.NONE`` for a word that no row and no naming rule knows."""
    row = BY_NAME.get(word)
    if row is not None:
        return row.action
    if b"KERNEL_LOOP" in word:  # CUDA_KERNEL_LOOP(i, n) {…}, c10/cuda and aten/src/ATen/cuda/detail/KernelUtils.h
        return Action.LOOP
    if b"_DISPATCH_CASE" in word:  # AT_DISPATCH_SWITCH(type, name, AT_DISPATCH_CASE(…) AT_DISPATCH_CASE(…))
        return Action.SEPARATE
    return Action.ATTRIBUTE if ATTRIBUTE_SUFFIX.fullmatch(word) else Action.NONE
