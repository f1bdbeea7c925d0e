"""Kernels that are compiled while PyTorch runs: which code, under which name."""

from __future__ import annotations

import pytest

from tests.link.small import linked

LAUNCHERS = """namespace at::native {
template <char const* name, typename T, int arity, typename... Args>
void jitted_loop(TensorIteratorBase& iter, const std::string& f, int n = 0) {}
template <const char *name, typename T> void jitted_reduce(TensorIterator& iter, const std::string& f) {}
template <char const* name, typename T> void through(TensorIteratorBase& iter, const std::string& f) {
  jitted_loop<name, T, 1>(iter, f);
}
template <typename T, int arity> void plain(TensorIteratorBase& iter, const std::string& f) {}
}
"""
CODES = "const auto far_string = jiterator_stringify(\n  template <typename T> T far(T a) { return a; });\n"
NAMES = '// jit\nconstexpr char twist_name[] = "twist";\n'


@pytest.mark.parametrize(
    ("body", "found"),
    [
        # a code of another file, of this one, made in the call
        ("jitted_loop<twist_name, float, 1>(iter, far_string);", ["twist_kernel Codes.h:1 jitted_loop"]),
        ("static const auto s = jiterator_stringify(\n  code);\n  jitted_loop</*name=*/twist_name, float, 1>(iter, s);",
         ["twist_kernel F.cu:6 jitted_loop"]),
        ("jitted_loop<twist_name, float, 1>(iter, jiterator_stringify(code));", ["twist_kernel F.cu:6 jitted_loop"]),
        # another template's kernels are called otherwise
        ("jitted_reduce<twist_name, float>(iter, far_string);", ["reduction_twist_kernel Codes.h:1 jitted_reduce"]),
        # a template that hands its name on: who gives the name has the edge
        ("through<twist_name, float>(iter, far_string);", ["twist_kernel Codes.h:1 through"]),
        # no name that is known, no template that takes one
        ("jitted_loop<other_name, float, 1>(iter, far_string);", []),
        ("plain<twist_name, 1>(iter, far_string);", []),
        ("jitted_loop(iter, far_string);", []),
    ],
)  # fmt: skip
def test_what_is_compiled(body: str, found: list[str]) -> None:
    source = (
        f'#include "Launch.h"\n#include "Codes.h"\n{NAMES}'
        f"namespace at::native {{ void f(TensorIteratorBase& iter) {{\n  {body}\n}} }}\n"
    )
    graph = linked({"Launch.h": LAUNCHERS, "Codes.h": CODES, "F.cu": source})
    nodes = {row[0]: row for row in graph.nodes}
    edges = [e for e in graph.edges if e[2] == "instantiates"]
    assert [f"{nodes[e[1]][2]} {nodes[e[1]][4].rpartition('/')[2]}:{nodes[e[1]][5]} {e[3]}" for e in edges] == found
    assert all(nodes[e[1]][8] == '{"compiled":"at run time"}' for e in edges)
