"""Names of structured kernels (torchgen/api/meta.py, torchgen/api/structured.py).

``TORCH_META_FUNC2(add, Tensor)`` defines ``at::meta::structured_add_Tensor::meta`` for the group whose functional
operator is ``add.Tensor``. No dispatch table names it: the generated Meta kernel, and those of all backends, call it.
"""

from __future__ import annotations

import re

_META = re.compile(r"^at::meta::structured_(\w+)::meta$")


def meta_name(function: str) -> str:
    """The functional operator (``add_Tensor`` for ``add.Tensor``) whose meta function this is, else ""."""
    match = _META.match(function)
    return match[1] if match else ""


def meta_function(functional: str) -> str:
    """The meta function of the group of a functional operator, ``aten::add.Tensor``."""
    return f"at::meta::structured_{functional.partition('::')[2].replace('.', '_')}::meta"
