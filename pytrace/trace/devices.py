"""Which device a dispatch key or a stub's registration belongs to.

A dispatch key is a functionality (nothing, Sparse, SparseCsr, Quantized, NestedTensor, Autograd, …) joined to a
backend; composite keys serve every backend (c10/core/DispatchKey.h, torchgen/model.py).
"""

from __future__ import annotations

#: Key endings, longest first where one ends another.
_BACKENDS = (
    ("cuda", "CUDA"),
    ("hip", "HIP"),
    ("mps", "MPS"),
    ("xpu", "XPU"),
    ("hpu", "HPU"),
    ("ipu", "IPU"),
    ("xla", "XLA"),
    ("ve", "VE"),
    ("lazy", "Lazy"),
    ("mtia", "MTIA"),
    ("meta", "Meta"),
    ("vulkan", "Vulkan"),
    ("metal", "Metal"),
    ("privateuse1", "PrivateUse1"),
    ("cpu", "CPU"),
)
#: What DispatchStub.h calls the CPU's variants: the key of a `registers` edge names the capability.
CPU_CAPABILITIES = {"DEFAULT", "AVX2", "AVX512", "VSX", "ZVECTOR", "SVE256", "SVE"}
#: Names a user may give to a device, and what they mean.
ALIASES = {"rocm": "hip", "gpu": "cuda"}


#: Functionalities that stand before a backend's kernel and call on to it (c10/core/DispatchKey.h): not a device's own.
_LAYERS = (
    "Autograd",
    "Autocast",
    "ADInplaceOrView",
    "FuncTorch",
    "Batched",
    "Functionalize",
    "Python",
    "Tracer",
    "Named",
    "Negative",
    "Conjugate",
    "ZeroTensor",
    "BackendSelect",
)


def is_layer(key: str) -> bool:
    """Whether the key belongs to a layer above the backends (autograd, autocast, vmap, …)."""
    return key.startswith(_LAYERS) or key in {
        "Named",
        "Negative",
        "Conjugate",
        "ZeroTensor",
        "BackendSelect",
        "Fallback",
    }


def device_of(key: str) -> str:
    """The device of a key (``cpu``, ``cuda``, …), or "" when it serves every one (composite, autograd, fallback)."""
    if key in CPU_CAPABILITIES:
        return "cpu"
    if is_layer(key):
        return ""
    upper = key.upper()
    for device, ending in _BACKENDS:
        if upper.endswith(ending.upper()):
            return device
    return ""


def is_plain(key: str) -> bool:
    """Whether the key is a dense backend's own (``CPU``, ``CUDA``, ``MPS``), or composite: what is drawn by default."""
    return key.startswith("Composite") or key in {"CPU", "CUDA"}


def canonical(device: str) -> str:
    """The device a user means: lower case, aliases resolved."""
    device = device.lower()
    return ALIASES.get(device, device)


def known() -> list[str]:
    """Every device name."""
    return [device for device, _ in _BACKENDS]


def key_order(key: str) -> tuple[int, str]:
    """Order of keys in a dispatch table: composite first, then CPU, CUDA, other plain backends, then the rest."""
    if key.startswith("Composite"):
        return (0, key)
    plain = {"CPU": 1, "CUDA": 2, "MPS": 3, "XPU": 4, "Meta": 9}
    return (plain.get(key, 10 if is_layer(key) else 5), key)
