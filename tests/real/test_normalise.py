"""Normalisation on the real tree: few files with errors, and every kernel and macro-headed function is a function.

``PYTORCH_SRC`` names a PyTorch 2.6.0 checkout.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import tree_sitter_cuda
from tree_sitter import Language, Node, Parser, Query, QueryCursor, Tree

from pytrace.extract.normalise import has_error_node, parse

pytestmark = pytest.mark.real

SUFFIXES = {".h", ".hpp", ".c", ".cc", ".cpp", ".cu", ".cuh", ".hip", ".mm", ".metal", ".inl", ".inc"}
BUNDLED = re.compile(r"/(?:qnnpack|flash_attn|mem_eff_attention)/")
NOT_CODE = re.compile(
    rb"//[^\n]*|/\*.*?\*/|R\"([^(\s\"]*)\(.*?\)\1\"|\"(?:[^\"\\\n]|\\.)*\"|(?<=\n)[ \t]*#(?:[^\n]*\\\n)*[^\n]*",
    re.DOTALL,
)
IMPL = re.compile(rb"\b(?:TORCH_(?:IMPL|META|PRECOMPUTE_META)_FUNC2?)\s*\(\s*\w+\s*(?:,\s*\w+\s*)?\)")


@pytest.fixture(scope="module")
def root() -> Path:
    if "PYTORCH_SRC" not in os.environ:
        pytest.skip("PYTORCH_SRC not set")
    return Path(os.environ["PYTORCH_SRC"])


@cache
def parser() -> Parser:
    return Parser(Language(tree_sitter_cuda.language()))


@cache
def query() -> Query:
    language = Language(tree_sitter_cuda.language())
    found: Query = Query(
        language, "(function_definition declarator: (_) @head body: (compound_statement) @body) @function"
    )
    return found


def sources(folder: Path) -> Iterator[tuple[Path, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in SUFFIXES and path.is_file() and not path.is_symlink():
            yield path, path.read_bytes()


def code_only(source: bytes) -> bytes:
    """``source`` with comments, literals and directives blanked: where a plain search finds code only."""
    return NOT_CODE.sub(lambda m: re.sub(rb"[^\n]", b" ", m[0]), source)


def functions(tree: Tree) -> list[tuple[Node, Node, Node]]:
    """(function, head, body) of every function definition."""
    return [(m["function"][0], m["head"][0], m["body"][0]) for _, m in QueryCursor(query()).matches(tree.root_node)]


def around(found: list[tuple[Node, Node, Node]], at: int) -> Node | None:
    """The declarator of the function definition whose head (from its first word to its body) covers ``at``."""
    heads = [(f.start_byte, head) for f, head, body in found if f.start_byte <= at < body.start_byte]
    return max(heads, key=lambda pair: pair[0])[1] if heads else None


def is_definition(code: bytes, at: int) -> bool:
    """Whether ``{`` comes before ``;`` outside of parentheses."""
    depth = 0
    for match in re.finditer(rb"[(){;]", code[at:]):
        if match[0] == b"(":
            depth += 1
        elif match[0] == b")":
            depth -= 1
        elif depth == 0:
            return match[0] == b"{"
    return False


@pytest.mark.parametrize(
    ("folder", "bound"),
    [("aten/src/ATen/native", 0.015), ("aten/src/ATen", 0.03), ("torch/csrc", 0.02), ("c10", 0.08)],
)
def test_files_with_error_nodes(root: Path, folder: str, bound: float) -> None:
    total, bad = 0, []
    for path, source in sources(root / folder):
        if BUNDLED.search(str(path)):
            continue
        total += 1
        tree, _ = parse(source, parser())
        if tree.root_node.has_error and has_error_node(tree.root_node):
            bad.append(str(path))
    assert len(bad) <= bound * total, bad


def test_kernels_and_macro_heads_are_functions(root: Path) -> None:
    """Every ``__global__`` before a body, and every TORCH_IMPL_FUNC and its kin, heads a function definition."""
    kernels = heads = 0
    missing: list[str] = []
    for path, source in sources(root / "aten"):
        if b"__global__" not in source and b"_FUNC" not in source:
            continue
        code = code_only(source)
        kernel_at = [m.start() for m in re.finditer(rb"\b__global__\b", code) if is_definition(code, m.start())]
        head_at = [m.start() for m in IMPL.finditer(code)]
        if not kernel_at and not head_at:
            continue
        found = functions(parse(source, parser())[0])
        kernels += len(kernel_at)
        heads += len(head_at)
        missing += [
            f"{path}:{source.count(bytes([10]), 0, at) + 1}" for at in kernel_at + head_at if not around(found, at)
        ]
        for at in head_at:
            inner = node.child_by_field_name("declarator") if (node := around(found, at)) else None
            if inner is None or inner.type != "function_declarator":
                missing.append(f"{path}:{source.count(bytes([10]), 0, at) + 1}: not a head of a head")
    assert missing == []
    assert kernels > 400 and heads > 500
