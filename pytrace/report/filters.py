"""Which operators a report is about: filters over its rows, and the question they make as a sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase

from pytrace.errors import BadQuestion
from pytrace.report.rows import SERVING_NOTHING, OperatorRow
from pytrace.schema import keys

#: Ways of being served that need code for the backend; the others come for free.
OWN = ("kernel", "delegate", "generated", "library", "python")
#: Whose word counts: a sentence, and the words of ``HOW`` that are kept.
SOURCES = {
    "yaml": (
        "native_functions.yaml, own and inherited rows",
        ("kernel", "delegate", "composite", "wrapper", "generated"),
    ),
    "own": ("the rows that native_functions.yaml writes", ("kernel", "composite")),
}
#: Words for families of keys, by their first letters in the key.
_FAMILIES = {"sparse": "Sparse", "sparsecsr": "SparseCsr", "quantized": "Quantized", "nested": "NestedTensor"}


@dataclass
class Filter:
    """What to keep. Every condition must hold; of several values of one condition one is enough, except of ``has``
    and ``lacks``, which must all hold.
    """

    ops: tuple[str, ...] = ()  #: globs over the full name, the local name or the base name
    namespaces: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    has: tuple[str, ...] = ()  #: keys with a kernel
    lacks: tuple[str, ...] = ()  #: keys under which a call would fail
    missing: tuple[str, ...] = ()  #: as ``lacks``, where another backend has a kernel
    implement: str = ""  #: a backend: what it must implement itself
    composite: bool = False  #: only operators without any backend's kernel
    public: bool = False
    sources: str = ""  #: a word of ``SOURCES``: whose word counts

    def apply(self, rows: Iterable[OperatorRow]) -> list[OperatorRow]:
        """The rows that pass. Raises ``BadQuestion`` for a key, tag or namespace that nothing has."""
        rows = list(rows)
        check_words(rows, tags=self.tags, namespaces=self.namespaces)
        tests = self._tests()
        return [row for row in rows if all(test(row) for test in tests)]

    def _tests(self) -> list[Callable[[OperatorRow], bool]]:
        tests: list[Callable[[OperatorRow], bool]] = []
        if self.ops:
            tests.append(lambda row: any(matches(row, glob) for glob in self.ops))
        if self.namespaces:
            tests.append(lambda row: any(fnmatchcase(row.namespace, glob) for glob in self.namespaces))
        if self.tags:
            tests.append(lambda row: any(tag in row.tags for tag in self.tags))
        if self.public:
            tests.append(lambda row: row.public)
        if self.composite:
            tests.append(is_composite)
        tests += [has(key_test(key)) for key in self.has]
        tests += [lacks(key_test(key)) for key in self.lacks]
        for key in self.missing:
            tests += [has_kernel, lacks(key_test(key))]
        if self.implement:
            tests.append(must_implement(key_test(self.implement)))
        return tests

    def sentence(self) -> str:
        """The question as words, "" when everything is kept."""
        parts = []
        if self.ops:
            parts.append(f"named {' or '.join(self.ops)}")
        if self.namespaces:
            parts.append(f"of namespace {' or '.join(self.namespaces)}")
        if self.tags:
            parts.append(f"with tag {' or '.join(self.tags)}")
        parts += [f"with a kernel for {key_test(key).label}" for key in self.has]
        parts += [f"without any way to run on {key_test(key).label}" for key in self.lacks]
        parts += [f"with a kernel for some backend and no way to run on {key_test(key).label}" for key in self.missing]
        if self.implement:
            parts.append(f"that {key_test(self.implement).label} must implement itself")
        if self.composite:
            parts.append("with composite kernels only")
        if self.public:
            parts.append("public")
        if self.sources:
            parts.append(f"going by {SOURCES[self.sources][0]}")
        return f"operators {', '.join(parts)}" if parts else ""


def check_words(
    rows: Sequence[OperatorRow],
    *,
    tags: Iterable[str] = (),
    namespaces: Iterable[str] = (),
    names: Iterable[str] = (),
) -> None:
    """Raise ``BadQuestion`` for a tag, namespace or name that no operator has: it is misspelt, not a condition.

    ``namespaces`` and ``names`` may be patterns; a name that is one may fit nothing.
    """
    known_tags = sorted({tag for row in rows for tag in row.tags})
    for tag in tags:
        if tag not in known_tags:
            near = get_close_matches(tag, known_tags, n=2) or known_tags[:6]
            raise BadQuestion(f"No operator has the tag {tag}. Tags are {', '.join(near)}, …")
    spaces = sorted({row.namespace for row in rows})
    for glob in namespaces:
        if not any(fnmatchcase(space, glob) for space in spaces):
            near = get_close_matches(glob, spaces, n=2) or spaces[:6]
            raise BadQuestion(f"No operator is of the namespace {glob}. Namespaces are {', '.join(near)}, …")
    for name in names:
        if not re.search(r"[*?\[]", name) and not any(matches(row, name) for row in rows):
            raise BadQuestion(f"No operator is named {name}.")


@dataclass
class KeyTest:
    """A backend as a user names it: one key, or a family of keys."""

    label: str
    key: str  #: the key, "" for a family
    prefix: str = ""

    def matches(self, key: str) -> bool:
        """Whether a dispatch key is meant."""
        return key == self.key if self.key else key.startswith(self.prefix)


def key_test(text: str) -> KeyTest:
    """``mps``, ``SparseCUDA``, ``sparse`` (all of them) -> the keys that are meant. Raises ``BadQuestion``."""
    flat = re.sub(r"[^a-z0-9]", "", text.lower())
    if flat in _FAMILIES:
        return KeyTest(f"{_FAMILIES[flat]}*", "", _FAMILIES[flat])
    by_flat = {key.lower(): key for key in keys.ALL}
    by_flat.update(rocm="HIP", gpu="CUDA", mkldnn="MkldnnCPU")
    if flat in by_flat:
        key = keys.canonical(by_flat[flat])
        return KeyTest(key, key)
    near = [by_flat[name] for name in get_close_matches(flat, by_flat, n=3)]
    hint = f"Did you mean {' or '.join(near)}?" if near else "Examples: cpu, cuda, mps, SparseCUDA, quantized."
    raise BadQuestion(f"There is no dispatch key {text}. {hint}")


def matches(row: OperatorRow, glob: str) -> bool:
    """Whether a glob names the operator: ``aten::add*``, ``add.out``, or ``add`` for all its overloads."""
    local = row.local
    return any(fnmatchcase(name, glob) for name in (row.name, local, local.partition(".")[0]))


def has_kernel(row: OperatorRow) -> bool:
    """Whether some backend has a kernel of its own."""
    return any(c.how in OWN and keys.key_kind(c.key) == "backend" and c.key != "Meta" for c in row.cells)


def is_composite(row: OperatorRow) -> bool:
    """Whether only composite kernels (or wrappers) serve the operator."""
    return not has_kernel(row) and any(cell.how in ("composite", "wrapper") for cell in row.cells)


def has(wanted: KeyTest, how: tuple[str, ...] = OWN) -> Callable[[OperatorRow], bool]:
    """Whether an operator has a kernel for a key (any kind of one for Meta)."""
    return lambda row: any(wanted.matches(cell.key) and (cell.how in how or cell.key == "Meta") for cell in row.cells)


def lacks(wanted: KeyTest) -> Callable[[OperatorRow], bool]:
    """Whether a call with tensors of a key would find no kernel, composite ones included."""

    def test(row: OperatorRow) -> bool:
        if wanted.key in row.served:
            return not row.served[wanted.key]
        if any(wanted.matches(cell.key) and cell.how != "py_impl" for cell in row.cells):
            return False
        registered = {cell.key for cell in row.cells if cell.how not in SERVING_NOTHING}
        return not (wanted.key and keys.kernel_key(wanted.key, registered))

    return test


def must_implement(wanted: KeyTest) -> Callable[[OperatorRow], bool]:
    """What backend K must implement: CPU or CUDA has a kernel, and nothing of what serves every backend does.

    Whether K has a kernel already makes no difference, nor does a kernel that another operator lends: structured
    operators that delegate are run by the out= one they delegate to.
    """
    backend = wanted.key or "PrivateUse1"

    def test(row: OperatorRow) -> bool:
        if row.delegates or row.generated_from:
            return False
        present = {cell.key for cell in row.cells if cell.how not in SERVING_NOTHING}
        if not present & {"CPU", "CUDA"}:
            return False
        return not keys.kernel_key(backend, present - {backend})

    return test
