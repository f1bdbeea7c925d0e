"""What PyTorch's registration macros mean: one row per macro, with the reason, and nothing else.

A macro that is not in these tables is no mystery: it is expanded through its own ``#define`` when the facts are
linked, and the expansion is read again. Here stand the ends of such expansions.
"""

from __future__ import annotations

#: Dispatch-stub macros of ``aten/src/ATen/native/DispatchStub.h`` -> the slot of the stub that they fill.
#: ``link/registrations.py`` turns a slot into a key and the CPU capabilities.
STUB_SLOTS: dict[bytes, str] = {
    # Device by the kind of the file: nvcc and hipcc -> CUDA, Objective-C++ -> MPS, a file compiled once per CPU
    # capability -> this capability; for AVX512 it registers a null pointer (many kernels are slower there).
    b"REGISTER_DISPATCH": "file",
    # The same for files of one CPU capability each, AVX512 included. (SVE256: the same #define under another name.)
    b"ALSO_REGISTER_AVX512_DISPATCH": "file+AVX512",
    b"ALSO_REGISTER_SVE256_DISPATCH": "file+SVE256",
    # The capability is the second argument: REGISTER_ARCH_DISPATCH(stub, DEFAULT, &fn).
    b"REGISTER_ARCH_DISPATCH": "argument",
    # One capability each; empty when the build has no such capability.
    b"REGISTER_AVX512_DISPATCH": "AVX512",
    b"REGISTER_AVX2_DISPATCH": "AVX2",
    b"REGISTER_VSX_DISPATCH": "VSX",
    b"REGISTER_ZVECTOR_DISPATCH": "ZVECTOR",
    b"REGISTER_SVE256_DISPATCH": "SVE256",
    # All capabilities at once, from a file that is compiled once.
    b"REGISTER_ALL_CPU_DISPATCH": "every",
    # All capabilities get a null pointer: the stub has no CPU kernel, by decision.
    b"REGISTER_NO_CPU_DISPATCH": "none",
    # A static object whose constructor sets the pointer of one device.
    b"REGISTER_CUDA_DISPATCH": "CUDA",
    b"REGISTER_HIP_DISPATCH": "HIP",
    b"REGISTER_MPS_DISPATCH": "MPS",
    b"REGISTER_XPU_DISPATCH": "XPU",
    b"REGISTER_MTIA_DISPATCH": "MTIA",
    b"REGISTER_PRIVATEUSE1_DISPATCH": "PRIVATEUSE1",
}

#: Macros that make the stub itself.
STUB_SITES: dict[bytes, str] = {
    b"DECLARE_DISPATCH": "declare",  # (type of the function pointer, name), in a header
    b"DEFINE_DISPATCH": "define",  # (name), in one .cpp
}
