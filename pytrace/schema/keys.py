"""Dispatch keys: their kinds, their devices, and which kernel a runtime key falls back to.

The enumeration is ``c10/core/DispatchKey.h``; the sets of the alias keys are ``c10/core/DispatchKeySet.cpp``; the
order of the fallback is ``computeDispatchTableEntryWithDebug`` in ``aten/src/ATen/core/dispatch/OperatorEntry.cpp``;
what torchgen accepts in ``native_functions.yaml`` is in ``torchgen/model.py``.
"""

from __future__ import annotations

from collections.abc import Container
from functools import cache


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


#: Backends that have a bit of their own (``C10_FORALL_BACKEND_COMPONENTS``).
BACKENDS = _words("CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA PrivateUse1 PrivateUse2 PrivateUse3 Meta")
#: Functionalities that have a runtime key per backend (``C10_FORALL_FUNCTIONALITY_KEYS``); Dense has no prefix.
PER_BACKEND = ("", "Quantized", "Sparse", "SparseCsr", "NestedTensor", "Autograd")
#: Backends that are one key, without a bit of their own.
OTHER_BACKENDS = ("FPGA", "MAIA", "Vulkan", "Metal", "CustomRNGKeyId", "MkldnnCPU")

CIA, CEA = "CompositeImplicitAutograd", "CompositeExplicitAutograd"
CIA_NESTED, CEA_NON_FUNCTIONAL = "CompositeImplicitAutogradNestedTensor", "CompositeExplicitAutogradNonFunctional"
#: Alias keys under which one kernel serves many runtime keys.
COMPOSITE = (CEA_NON_FUNCTIONAL, CEA, CIA_NESTED, CIA)

#: Keys for which torchgen writes the wrapper of a structured kernel (``STRUCTURED_DISPATCH_KEYS``).
STRUCTURED = frozenset(("MPS", "CUDA", "CPU", "XPU"))
#: Keys for which a ``ufunc_inner_loop`` makes a kernel (``UFUNC_DISPATCH_KEYS``).
UFUNC = ("CPU", "CUDA")
#: The key of the formulas of ``derivatives.yaml`` that stand under no ``dispatch``.
DEFAULT_FORMULA = "Default"
#: One formula of ``derivatives.yaml``: names, text, line.
FormulaRow = tuple[str, str, int]
#: Keys that ``derivatives.yaml`` may name beside ``Default`` (``AUTOGRAD_KEYS``).
AUTOGRAD = ("AutogradNestedTensor", *("Autograd" + b for b in BACKENDS))

#: Names that the enumeration gives twice (end of ``enum class DispatchKey``).
SYNONYMS = {
    "CatchAll": "Undefined",
    "CPUTensorId": "CPU",
    "CUDATensorId": "CUDA",
    "DefaultBackend": CEA,
    "PrivateUse1_PreAutograd": "AutogradPrivateUse1",
    "PrivateUse2_PreAutograd": "AutogradPrivateUse2",
    "PrivateUse3_PreAutograd": "AutogradPrivateUse3",
    "Autocast": "AutocastCUDA",
}

#: Keys that are neither a backend's nor an alias: what a call passes on its way to the backend.
FUNCTIONALITIES = frozenset(
    _words(
        "BackendSelect Python Fake FuncTorchDynamicLayerBackMode Functionalize Named Conjugate Negative ZeroTensor "
        "ADInplaceOrView AutogradOther AutogradFunctionality AutogradNestedTensor Tracer AutocastCPU AutocastXPU "
        "AutocastIPU AutocastHPU AutocastXLA AutocastMPS AutocastCUDA AutocastPrivateUse1 AutocastMAIA AutocastMTIA "
        "FuncTorchBatched BatchedNestedTensor FuncTorchVmapMode Batched VmapMode FuncTorchGradWrapper DeferredInit "
        "PythonTLSSnapshot FuncTorchDynamicLayerFrontMode TESTING_ONLY_GenericWrapper TESTING_ONLY_GenericMode "
        "PreDispatch PythonDispatcher Dense Quantized Sparse SparseCsr NestedTensor"
    )
)

_PER_BACKEND_KEYS = {prefix + backend: (prefix, backend) for prefix in PER_BACKEND for backend in BACKENDS}
ALL = frozenset(
    (*_PER_BACKEND_KEYS, *OTHER_BACKENDS, *FUNCTIONALITIES, *COMPOSITE, "Autograd", "FuncTorchBatchedDecomposition")
) | frozenset(SYNONYMS)


def canonical(key: str) -> str:
    """The name that ``_dispatch_dump`` prints for a key: ``Autocast`` -> ``AutocastCUDA``."""
    return SYNONYMS.get(key, key)


def parse_keys(text: str) -> list[str]:
    """The left side of a ``dispatch:`` line, ``SparseCPU, SparseMeta`` -> its keys, unknown ones included."""
    return [k.strip() for k in text.split(",") if k.strip()]


@cache
def key_kind(key: str) -> str:
    """``composite``, ``autograd``, ``backend``, ``functionality`` or ``unknown``."""
    key = canonical(key)
    if key in COMPOSITE:
        return "composite"
    if key.startswith("Autograd"):
        return "autograd"
    if key in _PER_BACKEND_KEYS or key in OTHER_BACKENDS:
        return "backend"
    return "functionality" if key in ALL else "unknown"


@cache
def device(key: str) -> str:
    """The device a key belongs to, in the words of ``torch.device``: ``SparseCUDA`` -> ``cuda``; "" for none."""
    key = canonical(key)
    if key in _PER_BACKEND_KEYS:
        return _PER_BACKEND_KEYS[key][1].lower()
    if key == "MkldnnCPU" or key == "AutocastCPU":
        return "cpu"
    if key.startswith("Autocast"):
        return key[len("Autocast") :].lower()
    return key.lower() if key in OTHER_BACKENDS and key != "CustomRNGKeyId" else ""


def namespace_of(key: str) -> str:
    """The namespace of the functions that call a kernel without dispatch: ``at::cpu``, ``at::compositeimplicit…``."""
    return f"at::{key.lower()}"


@cache
def alias_sources(key: str) -> tuple[str, ...]:
    """The alias keys whose kernel a runtime key uses when it has none of its own, best first.

    Autograd keys are left to the caller (``Autograd`` and ``CompositeImplicitAutograd``, the latter only without
    a backend kernel).
    """
    key = canonical(key)
    prefix, backend = _PER_BACKEND_KEYS.get(key, ("", ""))
    if key == "AutogradNestedTensor":
        return (CIA_NESTED, CIA)
    if key_kind(key) == "autograd":
        return (CIA,)
    if key == "Functionalize":
        return (CIA,)
    if key == "NestedTensor" or prefix == "NestedTensor":
        # NestedTensor is no "backend" for explicit composites: Note [NestedTensor Not Included in Backend Keys].
        return (CIA_NESTED, CIA)
    if not backend and key not in OTHER_BACKENDS:
        return ()
    if prefix == "Sparse" or backend in ("XLA", "Lazy"):
        # Functional backends must not decompose into mutation: Note [CompositeExplicitAutogradNonFunctional Key].
        return (CEA, CIA)
    return (CEA_NON_FUNCTIONAL, CEA, CIA)


def kernel_key(key: str, registered: Container[str]) -> str:
    """The key whose kernel runs for a backend key, out of the registered ones; "" when there is none.

    >>> kernel_key("CUDA", {"CPU", "CompositeExplicitAutograd"})
    'CompositeExplicitAutograd'
    """
    return next((k for k in (key, *alias_sources(key)) if k in registered), "")
