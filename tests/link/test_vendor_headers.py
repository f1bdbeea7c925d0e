"""What the C++ headers of vendors, which no checkout holds, call of the C API behind them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytrace.link import vendor_headers
from pytrace.model import NodeKind
from tests.link.small import edges, linked

TABLE = """\
# a comment
@0 a b
@1 c
in box.hpp
class ns::base
class ns::box ns::base
alias ns::number ?
alias ns::crate ns::box
ns::box::box 0-1 ? @1
ns::box::box 2-2 ? -
ns::box::open * ns::box @0
ns::base::operator bool * ? @1
ns::box::shut * ? -
"""


def table(*called: str) -> dict[str, Any]:
    return vendor_headers.read(TABLE.splitlines(), "v_", called)


def test_rows_become_facts() -> None:
    found = table("box", "open", "operator bool")
    assert [(row[0], len(row[4]), row[5], row[8 + 1]) for row in found["functions"]] == [
        ("ns::box::box", 1, "", "box.hpp"),
        ("ns::box::box", 2, "", "box.hpp"),
        ("ns::box::open", 1, "ns::box", "box.hpp"),
        ("ns::base::operator bool", 1, "", "box.hpp"),
    ]
    assert [(row[0], row[2]) for row in found["calls"]] == [(0, "v_c"), (2, "v_a"), (2, "v_b"), (3, "v_c")]
    assert [row[:2] for row in found["classes"]] == [("ns::base", ()), ("ns::box", ("ns::base",)), ("ns::number", ())]
    assert [row[:4] for row in found["usings"]] == [("alias", "crate", "ns::box", "ns")]


def test_only_what_is_called_is_read() -> None:
    assert [row[0] for row in table("shut")["functions"]] == ["ns::box::shut"]


@pytest.mark.parametrize("included", ["<ideep.hpp>", "<dnnl.hpp>", "<oneapi/dnnl/dnnl.hpp>"])
def test_wanted_where_the_tree_includes_them(included: str) -> None:
    graph = linked({"F.cpp": f"#include {included}\nvoid f() {{ dnnl::set_verbose(1); }}"})
    assert edges(graph, source="f") == ["calls set_verbose"]
    assert set(edges(graph, source="set_verbose")) == {"calls_library dnnl_set_verbose"}


def test_not_wanted_elsewhere() -> None:
    graph = linked({"F.cpp": "void f() { dnnl::set_verbose(1); }"})
    assert edges(graph, source="f") == ["calls_library dnnl::set_verbose"]


#: (body of a function, what it calls of the headers)
BODIES = [
    ("ideep::engine::cpu_engine();", ["cpu_engine"]),
    ("ideep::tensor x; x.get_desc();", ["get_desc", "tensor"]),
    ("ideep::tensor x(d, e); auto d = x.get_desc(); d.transpose(0, 1);", ["get_desc", "tensor", "transpose"]),
    ("dims d{1}; const ideep::scale_t s(1);", []),
    ("auto x = ideep::attr_t::fuse_relu(); x.get_fpmath_mode();", ["fuse_relu", "get_fpmath_mode"]),
    ("using namespace ideep; engine::cpu_engine();", ["cpu_engine"]),
    ("using ideep::tensor; tensor x(d);", ["tensor"]),
    # what only looks like it
    ("tensor(3); sum(x); binary(x);", []),
]


@pytest.mark.parametrize(("body", "called"), BODIES)
def test_lookup(body: str, called: list[str]) -> None:
    graph = linked({"F.cpp": f"#include <ideep.hpp>\nnamespace at::native {{ void f() {{ {body} }} }}"})
    assert sorted({edge.split(" ")[1] for edge in edges(graph, source="f")}) == called


GRAPHS = [
    ("fe::graph::Graph g; g.execute(h, p, w);", ["Graph", "execute"]),
    ("auto g = std::make_shared<fe::graph::Graph>(); g->execute(h, p, w);", ["Graph", "execute"]),
    ("both made = x; auto [g, n] = made; g->execute(h, p, w);", ["execute"]),
    ("auto t = cudnn_frontend::TensorBuilder().setDim(4, d).build();", ["build", "setDim"]),
    ("plan_t p; p.execute(h);", []),
]


@pytest.mark.parametrize(("body", "called"), GRAPHS)
def test_graphs_of_cudnn(body: str, called: list[str]) -> None:
    before = "namespace fe = cudnn_frontend; using both = std::tuple<std::shared_ptr<fe::graph::Graph>, int>;"
    graph = linked({"F.cpp": f"#include <cudnn_frontend.h>\nnamespace at::native {{ {before} void f() {{ {body} }} }}"})
    assert sorted({edge.split(" ")[1] for edge in edges(graph, source="f")}) == called
    if "execute" in called:
        assert "calls_library cudnnBackendExecute" in edges(graph, "calls_library", source="execute")


def test_a_newer_function_than_the_table_is_a_library_call() -> None:
    graph = linked({"F.cpp": "#include <ideep.hpp>\nvoid f() { ideep::teleport::compute(x); }"})
    assert edges(graph, source="f") == ["calls_library ideep::teleport::compute"]


def test_their_nodes_have_no_place_but_a_header() -> None:
    graph = linked({"F.cpp": "#include <ideep.hpp>\nvoid f() { ideep::eltwise_forward::compute(x, y); }"})
    rows = [r for r in graph.nodes if r[1] == NodeKind.FUNCTION and r[2] == "ideep::eltwise_forward::compute"]
    assert [(r[4], r[5], r[8 - 1]) for r in rows] == [("", 0, "")]
    assert '"header":"ideep/operators/eltwise.hpp"' in str(rows[0][-1]).replace(" ", "")
    evidence = {e[4:7] for e in graph.edges if e[0] == rows[0][0]}
    assert evidence == {("vendor-header", "", 0)}
    assert "calls_library dnnl_primitive_execute" in edges(graph, "calls_library", source="compute")


def test_the_table_reads_as_it_says() -> None:
    """Sets before their use, headers before their rows, names with their table's namespaces only."""
    for told in vendor_headers.TABLES:
        seen, header = {"-"}, ""
        for line in (Path(vendor_headers.__file__).parent / told.file).read_text().splitlines():
            if line.startswith("@"):
                seen.add(line.split(" ")[0])
            elif line.startswith("in "):
                header = line
            elif line and not line.startswith(("#", "class ", "alias ")):
                assert header and line.rsplit(" ", 1)[1] in seen, line
