"""PyTorch's own tests of an operator (OpInfo, PythonRefInfo, ForeachFuncInfo, ModuleInfo) and its benchmarks.

An entry is told from the text of the files that hold them (``torch/testing/_internal``), without importing PyTorch.
``OpInfo("nn.functional.mse_loss", …)`` tests the callable of that name below ``torch`` (opinfo/core.py: ``OpInfo``),
and the names of its tests hold it with ``_`` for ``.`` (``OpInfo.formatted_name``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

_OPINFO_FOLDER = "torch/testing/_internal/opinfo/definitions"
_OPINFO_FILE = "torch/testing/_internal/common_methods_invocations.py"
_MODULE_FILE = "torch/testing/_internal/common_modules.py"
_BENCHMARKS = "benchmarks/operator_benchmark/pt"

_ENTRY = re.compile(r"""\b(\w*(?:OpInfo|FuncInfo|UfuncInfo|RefInfo))\(\s*(?:name=)?["']([\w.]+)["']""")
_OPTION = re.compile(
    r"""\b(op|torch_opinfo_name|aten_name|aten_backward_name|inplace_variant|method_variant|variant_test_name|decomp_aten_name)\s*="""
    r"""\s*(?:["']([\w.]+)["']|([A-Za-z_][\w.]*))"""
)
_MODULE = re.compile(r"\bModuleInfo\(\s*(?:module_cls=)?(torch\.nn\.[\w.]+)")
_USED = re.compile(r"\b(?:torch|nn|F|nnq|qF)(?:\.[A-Za-z_]\w*)+")
_ALIASES = {
    "nn": "torch.nn",
    "F": "torch.nn.functional",
    "nnq": "torch.ao.nn.quantized",
    "qF": "torch.ao.nn.quantized.functional",
}


@dataclass
class Entry:
    """One OpInfo, ModuleInfo or ForeachFuncInfo."""

    name: str  #: as written: ``nn.functional.mse_loss``
    kind: str  #: ``op``, ``ref`` (a Python reference of one), ``module``, ``foreach``
    file: str
    line: int
    python: set[str] = field(default_factory=set)  #: Python names that it calls
    operators: set[str] = field(default_factory=set)  #: base names of operators that it is about
    variant: str = ""

    @property
    def word(self) -> str:
        """What the names of its tests hold, for ``pytest -k``."""
        if self.kind == "module":
            return self.name.removeprefix("torch.").replace(".", "_")
        prefix = "_foreach_" if self.kind == "foreach" else ""
        return prefix + self.name.replace(".", "_") + (f"_{self.variant}" if self.variant else "")


def entries(root: str) -> list[Entry]:
    """All entries of the tree at ``root``, in order of file and line; files that are not there hold none."""
    paths = [_OPINFO_FILE]
    folder = os.path.join(root, _OPINFO_FOLDER)
    if os.path.isdir(folder):
        paths += [f"{_OPINFO_FOLDER}/{name}" for name in sorted(os.listdir(folder)) if name.endswith(".py")]
    found = [entry for path in paths for entry in _op_entries(path, _read(root, path))]
    return found + _module_entries(_MODULE_FILE, _read(root, _MODULE_FILE))


def _read(root: str, path: str) -> str:
    try:
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _op_entries(path: str, text: str) -> list[Entry]:
    matches = list(_ENTRY.finditer(text))
    lines = _Lines(text)
    found = []
    for match, following in zip(matches, [*matches[1:], None]):
        body = text[match.end() : following.start() if following else match.end() + 4000]
        kind = "foreach" if "Foreach" in match[1] else "ref" if "RefInfo" in match[1] else "op"
        found.append(_op_entry(match[2], kind, path, lines.of(match.start(2)), _options(body)))
    return found


def _options(body: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for option in _OPTION.finditer(body):
        if (
            option[2] or option[1] != "variant_test_name"
        ):  # a variable says nothing: the name alone selects all variants
            options.setdefault(option[1], option[2] or option[3])
    return options


def _op_entry(name: str, kind: str, path: str, line: int, options: Mapping[str, str]) -> Entry:
    entry = Entry(name, kind, path, line, variant=options.get("variant_test_name", ""))
    last = name.rpartition(".")[2]
    if kind == "foreach":
        # common_methods_invocations.py: ForeachFuncInfo(name) is about torch._foreach_NAME and its in-place twin.
        entry.python = {f"torch._foreach_{name}", f"torch._foreach_{name}_"}
        entry.operators = {f"_foreach_{name}", f"_foreach_{name}_"}
        return entry
    if kind == "ref":
        # torch/_refs holds a Python function for the operator of another OpInfo.
        entry.python = {f"torch.{name}"}
        entry.operators = {options.get("torch_opinfo_name", name).rpartition(".")[2]}
        return entry
    entry.python = {f"torch.{name}", f"torch.Tensor.{name}", f"torch.Tensor.{name}_"}
    for option in ("op", "inplace_variant", "method_variant"):
        if "." in options.get(option, ""):
            entry.python.add(options[option])
    entry.operators = {options.get("aten_name") or name.replace(".", "_"), last}
    for option in ("aten_backward_name", "decomp_aten_name"):
        if option in options:
            entry.operators.add(options[option])
    return entry


def _module_entries(path: str, text: str) -> list[Entry]:
    lines = _Lines(text)
    return [Entry(m[1], "module", path, lines.of(m.start()), {m[1]}) for m in _MODULE.finditer(text)]


class _Lines:
    """Line numbers of offsets that only grow."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._line = text, 0, 1

    def of(self, offset: int) -> int:
        self._line += self._text.count("\n", self._at, offset)
        self._at = offset
        return self._line


class Benchmark(NamedTuple):
    """A file of operator benchmarks: the names that it uses, and the line of the first use."""

    file: str
    names: list[str]
    line: int


def benchmarks(root: str, names: Iterable[str]) -> list[Benchmark]:
    """The operator benchmarks that use any of ``names``."""
    wanted = set(names)
    folder = os.path.join(root, _BENCHMARKS)
    if not os.path.isdir(folder):
        return []
    found = []
    for name in sorted(os.listdir(folder)):
        if not name.endswith("_test.py"):
            continue
        text = _read(root, f"{_BENCHMARKS}/{name}")
        used: dict[str, int] = {}
        for use in _USED.finditer(text):
            if (full := _full(use[0])) in wanted:
                used.setdefault(full, use.start())
        if used:
            line = text.count("\n", 0, min(used.values())) + 1
            found.append(Benchmark(f"{_BENCHMARKS}/{name}", sorted(used), line))
    return found


def _full(text: str) -> str:
    head, _, rest = text.partition(".")
    return f"{_ALIASES[head]}.{rest}" if head in _ALIASES else text


@dataclass
class TestRun:
    """A test file to run, the words for ``pytest -k`` (none: all of it), and why."""

    __test__ = False

    file: str
    words: list[str]
    why: str

    @property
    def command(self) -> str:
        """A line for a shell. The words hold letters, digits and underscores only."""
        select = f' -k "{" or ".join(self.words)}"' if self.words else ""
        return f"python -m pytest {self.file}{select}"


#: Test files that take every OpInfo: by what must have changed for them to be worth running. ``*`` is always.
#: The files exist in the tree or are left out; the reasons are the files' own first tests.
_BY_ASPECT: tuple[tuple[str, str, str], ...] = (
    ("test/test_ops.py", "*", "every OpInfo: references, out=, dtypes, errors"),
    ("test/test_ops_gradients.py", "backward", "gradients of every OpInfo"),
    ("test/test_ops_fwd_gradients.py", "backward", "forward-mode gradients of every OpInfo"),
    ("test/test_meta.py", "Meta", "meta functions of every OpInfo"),
    ("test/test_decomp.py", "decomposition", "decompositions of every OpInfo"),
    ("test/functorch/test_vmap.py", "vmap", "batching rules of every OpInfo"),
    ("test/test_mps.py", "MPS", "every OpInfo on MPS"),
    ("test/inductor/test_torchinductor_opinfo.py", "lowering", "lowerings of every OpInfo"),
)


def aspects(keys: Iterable[str]) -> set[str]:
    """The words of ``_BY_ASPECT`` that dispatch keys and tables stand for."""
    found = set()
    for key in keys:
        if key in ("backward", "decomposition", "lowering", "MPS"):
            found.add(key)
        if key in ("Meta", "meta", "fake") or key.endswith("Meta"):
            found.add("Meta")
        if key.startswith(("FuncTorch", "Batched")):
            found.add("vmap")
    return found


def runs(root: str, chosen: Sequence[Entry], keys: Iterable[str], most_words: int = 60) -> list[TestRun]:
    """What to run for the chosen entries. Above ``most_words`` names a whole file is run."""
    found = []
    wanted = {"*", *aspects(keys)}
    ops = _words(entry for entry in chosen if entry.kind in ("op", "ref"))
    groups = [(file, ops, why) for file, aspect, why in _BY_ASPECT if aspect in wanted]
    groups.append(("test/test_foreach.py", _words(e for e in chosen if e.kind == "foreach"), "ForeachFuncInfo"))
    groups.append(("test/test_modules.py", _words(e for e in chosen if e.kind == "module"), "ModuleInfo"))
    for file, words, why in groups:
        if words and os.path.isfile(os.path.join(root, file)):
            found.append(TestRun(file, words if len(words) <= most_words else [], why))
    return found


def _words(chosen: Iterable[Entry]) -> list[str]:
    """Words that select the tests, without those that another one selects already (``-k`` looks for parts)."""
    words = list(dict.fromkeys(entry.word for entry in chosen))
    return [word for word in words if not any(other != word and other in word for other in words)]
