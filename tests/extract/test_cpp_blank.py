"""What is blanked before the parse: lengths, newlines and braces stay."""

from __future__ import annotations

import pytest

from pytrace.extract.cpp import Function, extract
from pytrace.extract.cpp_blank import blank_unread


def shown(source: str) -> str:
    """The blanked source with every run of blanks made one."""
    out = blank_unread(source.encode())
    assert len(out) == len(source.encode())
    assert out.count(b"\n") == source.count("\n")
    return " ".join(out.decode().split())


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        # bodies of device code
        ("__global__ void k(int* x) {\n  f(x);\n}\n", "__global__ void k(int* x) { ; }"),
        ("template <typename T>\n__device__ T f(T x) {\n  if (x) { g(x); }\n  return x;\n}\n", None),
        ("struct S {\n  __device__ int m() const {\n    return g();\n  }\n};\n", None),
        # what the host runs as well, and the code of lambdas
        ("__host__ __device__ int f() {\n  return g();\n}\n", "same"),
        ("__device__ __host__ int f() {\n  return g();\n}\n", "same"),
        ("void h() {\n  run(n, [=] __device__(int i) {\n    g(i);\n  });\n}\n", "same"),
        ("void h() {\n  g();\n}\n", "same"),
        # a declaration, a macro that makes kernels
        ("__device__ int f(int x);\nvoid h() {\n  g();\n}\n", "same"),
        ("#define KERNEL(name) __global__ void name(int p)\nKERNEL(k) {\n  g(p);\n}\n", "same"),
        # braces that were miscounted: nothing is blanked
        (
            "__global__ void k() {\n#if A\n  if (x) {\n#else\n  if (y) {\n#endif\n  }\n}\nvoid h() {\n  g();\n}\n",
            "same",
        ),
        ("__global__ void k() {", "same"),
        # a lambda in the head, a raw string with braces: the layout alone would mislead
        (
            "namespace at::vec {\nvoid k(\n    F f = [](int x) {\n      return x;\n    }) {\n  g();\n}\n}\n",
            "namespace at::vec { void k( F f = [](int x) { return x; }) { ; } }",
        ),
        (
            '__global__ void k() {\n  p(R"({\n}})");\n  f(x);\n}\nvoid h() {\n  g();\n}\n',
            '__global__ void k() { p(R"({ }})"); f(x); } void h() { g(); }',
        ),
        # SIMD
        (
            "namespace at::vec {\nstruct V {\n  V abs() const {\n    return f(x);\n  }\n};\n}\n",
            "namespace at::vec { struct V { V abs() const { ; } }; }",
        ),
        ("namespace at::vec {}\nnamespace at::native {\nvoid h() {\n  g();\n}\n}\n", "same"),
        # the binding layer's parts of a leaf: who calls Python's C API is asked for
        ("namespace torch::jit {\npy::object h() {\n  return g();\n}\n}\n", "same"),
        ("#include <Python.h>\nnamespace torch::jit {\nPyObject* h() {\n  return g();\n}\n}\n", "same"),
        (  # a type of TorchScript has that name as well
            "namespace torch::jit {\nvoid h() {\n  g(PyObjectType::get());\n}\n}\n",
            "namespace torch::jit { void h() { ; } }",
        ),
    ],
)
def test_bodies(source: str, expected: str | None) -> None:
    if expected == "same":
        assert blank_unread(source.encode()) == source.encode()
    elif expected is None:
        assert "g(" not in shown(source)
    else:
        assert shown(source) == expected


def test_tables_of_numbers() -> None:
    rows = ", ".join(f"{{{n}, 0x{n:X}, 1.5f}}" for n in range(2000))
    assert shown(f"int before = 1;\nfloat t[2000][3] = {{\n{rows}\n}};\nint after = 2;\n") == (
        "int before = 1; float t[2000][3] = { }; int after = 2;"
    )
    assert blank_unread(f"float t[] = {{ {rows}, f(x) }};".encode()).count(b"f(x)") == 1


def test_functions_are_found_as_before() -> None:
    source = b"namespace n {\n__global__ void k(\n    int* x,\n    bool& b) {\n  f(x);\n}\nvoid h() {\n  g();\n}\n}\n"
    found = [Function(*row) for row in extract(source)["functions"]]
    assert [(f.name, f.kind, f.line, f.end_line) for f in found] == [
        ("n::k", "kernel", 2, 6),
        ("n::h", "function", 7, 9),
    ]
    assert [call[2] for call in extract(source)["calls"]] == ["g"]


@pytest.mark.parametrize("source", [b"", b"__global__", b"__device__ (", b"namespace at::vec {) {", b"{" * 30_000])
def test_any_bytes(source: bytes) -> None:
    assert len(blank_unread(source)) == len(source)
