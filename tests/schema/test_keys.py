"""Dispatch keys: kinds, devices, and where a key without a kernel looks."""

from __future__ import annotations

import pytest

from pytrace.schema import alias_sources, canonical, device, kernel_key, key_kind, parse_keys

KEYS = [
    # key, kind, device
    ("CPU", "backend", "cpu"),
    ("SparseCsrCUDA", "backend", "cuda"),
    ("MkldnnCPU", "backend", "cpu"),
    ("Meta", "backend", "meta"),
    ("Vulkan", "backend", "vulkan"),
    ("CompositeImplicitAutograd", "composite", ""),
    ("AutogradCUDA", "autograd", "cuda"),
    ("AutogradOther", "autograd", ""),
    ("Autocast", "functionality", "cuda"),
    ("AutocastCPU", "functionality", "cpu"),
    ("ZeroTensor", "functionality", ""),
    ("NoSuchKey", "unknown", ""),
]


@pytest.mark.parametrize(("key", "kind", "where"), KEYS)
def test_kind_and_device(key: str, kind: str, where: str) -> None:
    assert (key_kind(key), device(key)) == (kind, where)


def test_synonyms_and_lists() -> None:
    assert canonical("DefaultBackend") == "CompositeExplicitAutograd"
    assert parse_keys(" SparseCPU, SparseMeta,") == ["SparseCPU", "SparseMeta"]


FALLBACK = [
    # key asked for, keys registered, key that serves
    ("CUDA", ["CUDA", "CompositeImplicitAutograd"], "CUDA"),
    (
        "CUDA",
        ["CPU", "CompositeExplicitAutogradNonFunctional", "CompositeExplicitAutograd"],
        "CompositeExplicitAutogradNonFunctional",
    ),
    ("SparseCPU", ["CompositeExplicitAutogradNonFunctional", "CompositeExplicitAutograd"], "CompositeExplicitAutograd"),
    ("XLA", ["CompositeExplicitAutogradNonFunctional"], ""),
    ("NestedTensorCPU", ["CompositeExplicitAutograd", "CompositeImplicitAutograd"], "CompositeImplicitAutograd"),
    (
        "NestedTensorCPU",
        ["CompositeImplicitAutogradNestedTensor", "CompositeImplicitAutograd"],
        "CompositeImplicitAutogradNestedTensor",
    ),
    ("MkldnnCPU", ["CompositeExplicitAutograd"], "CompositeExplicitAutograd"),
    ("Python", ["CompositeImplicitAutograd"], ""),
]


@pytest.mark.parametrize(("key", "registered", "expected"), FALLBACK)
def test_fallback(key: str, registered: list[str], expected: str) -> None:
    assert kernel_key(key, registered) == expected


def test_composites_serve_autograd_too() -> None:
    assert alias_sources("AutogradCPU") == ("CompositeImplicitAutograd",)
