#!/usr/bin/env python3
"""Measure what public Python names call at run time, with an installed PyTorch: more truth of the kind of ``api_ops``.

usage: measure_runtime.py OUT [--seconds N] [--only TEXT]

Runs the CPU samples of PyTorch's own OpInfo, ModuleInfo and optimizer tables under ``ExecutionTraceObserver`` and
writes ``OUT/api_ops.json.gz`` (public name -> the first operators that it called) and ``OUT/runtime_edges.json.gz``
(operator -> operators that it called, forward and backward), overloads exact. Needs the PyTorch of the tree's version
(``pip install torch==2.6.0 numpy expecttest``); this is no test and imports nothing of pytrace. Compare with

    python tests/real/python_metric.py INDEX --data OUT --show 40
"""

from __future__ import annotations

import argparse
import gzip
import json
import marshal
import os
import signal
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ExecutionTraceObserver

#: Samples of one entry that are run: the first ones differ most.
SAMPLES = 12


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Raise ``TimeoutError`` in the block after so many seconds."""

    def end(number: int, frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def operators(run: Callable[[], object]) -> tuple[set[str], set[tuple[str, str]]]:
    """The operators that ``run`` called first, and (operator, operator that it called)."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
        observer = ExecutionTraceObserver().register_callback(file.name)
        observer.start()
        try:
            run()
        finally:
            observer.stop()
            observer.unregister_callback()
        nodes = json.loads(file.read())["nodes"]
    names: dict[int, str] = {}
    parents: dict[int, int] = {}
    for node in nodes:
        schema = next((a["value"] for a in node.get("attrs", ()) if a["name"] == "op_schema"), "")
        parents[node["id"]] = node["ctrl_deps"]
        if schema:
            names[node["id"]] = schema.partition("(")[0]
    first, edges = set(), set()
    for number, name in names.items():
        above = parents[number]
        while above in parents and above not in names and parents[above] != above:
            above = parents[above]
        if above in names:
            edges.add((names[above], name))
        else:
            first.add(name)
    return first, edges


class Record:
    """What was seen so far."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds
        self.apis: dict[str, set[str]] = defaultdict(set)
        self.edges: dict[str, set[str]] = defaultdict(set)
        self.failed = 0
        self.crashed = 0

    def run(self, name: str, call: Callable[[], Any], backward: bool = False) -> None:
        """Run a call that a user could make under ``name``, "" when there is none; a sample that fails is counted."""
        kept: list[Any] = []
        try:
            with time_limit(self.seconds):
                first, edges = operators(lambda: kept.append(call()))
                if backward:
                    edges |= operators(lambda: _backward(kept[0]))[1]
        except Exception:
            self.failed += 1
            return
        if name:
            self.apis[name] |= first
        for parent, child in edges:
            self.edges[parent].add(child)

    def apart(self, work: Callable[[], None]) -> None:
        """Do ``work`` on this record in a process of its own: the observer crashes on some layouts of Tensors."""
        ours, theirs = os.pipe()
        pid = os.fork()
        if not pid:
            code = 1
            try:
                work()
                with os.fdopen(theirs, "wb") as pipe:
                    marshal.dump((dict(self.apis), dict(self.edges), self.failed), pipe)
                code = 0
            finally:
                os._exit(code)
        os.close(theirs)
        with os.fdopen(ours, "rb") as pipe:
            data = pipe.read()
        if os.waitpid(pid, 0)[1]:
            self.crashed += 1
            return
        apis, edges, self.failed = marshal.loads(data)
        self.apis.update(apis)
        self.edges.update(edges)


def _backward(result: Any) -> None:
    while isinstance(result, (tuple, list)) and result:
        result = next((r for r in result if isinstance(r, torch.Tensor) and r.requires_grad), None)
    if isinstance(result, torch.Tensor) and result.requires_grad:
        (result.abs() if result.is_complex() else result).sum().backward()


def _public(op: Any) -> str:
    """The name by which users reach an OpInfo's function."""
    for name in (f"torch.{op.name}", f"torch.nn.functional.{op.name}"):
        found: Any = torch
        for part in name.split(".")[1:]:
            found = getattr(found, part, None)
        if found is not None and found is op.op:
            return name
    return ""


def op_infos(record: Record, only: str) -> None:
    """Functions, methods, in-place and operator forms of every OpInfo."""
    from torch.testing._internal.common_methods_invocations import op_db

    for op in op_db:
        if only in op.name:
            record.apart(partial(_op_info, record, op))


def _op_info(record: Record, op: Any) -> None:
    dtypes = [d for d in (torch.float32, torch.complex64, torch.int64, torch.bool) if d in op.dtypes]
    for dtype in dtypes[:2]:
        grad = op.supports_autograd and dtype.is_floating_point
        try:
            samples = [s for s, _ in zip(op.sample_inputs("cpu", dtype, requires_grad=grad), range(SAMPLES))]
        except Exception:
            record.failed += 1
            continue
        for sample in samples:
            arguments = (sample.input, *sample.args)
            record.run(_public(op), partial(op.op, *arguments, **sample.kwargs), grad)
            method = op.method_variant
            if method is not None and isinstance(sample.input, torch.Tensor):
                name = f"torch.Tensor.{getattr(method, '__name__', '')}"
                record.run(name, partial(method, *arguments, **sample.kwargs))
            in_place = op.inplace_variant
            if in_place is not None and isinstance(sample.input, torch.Tensor):
                name = f"torch.Tensor.{getattr(in_place, '__name__', '')}"
                copied = (sample.input.detach().clone(), *sample.args)
                record.run(name, partial(in_place, *copied, **sample.kwargs))


def module_infos(record: Record, only: str) -> None:
    """The forward of every ModuleInfo, and its backward."""
    from torch.testing._internal.common_modules import module_db

    for info in module_db:
        name = f"{info.module_cls.__module__}.{info.module_cls.__qualname__}"
        if only in name:
            record.apart(partial(_module_info, record, info, name))


def _module_info(record: Record, info: Any, name: str) -> None:
    for training in (True, False):
        try:
            inputs = info.module_inputs_func(
                info, device="cpu", dtype=torch.float32, requires_grad=True, training=training
            )
        except Exception:
            record.failed += 1
            continue
        for sample in inputs[:SAMPLES]:
            made, given = sample.constructor_input, sample.forward_input
            if given is None:
                continue
            try:
                module = info.module_cls(*made.args, **made.kwargs).train(training)
            except Exception:
                record.failed += 1
                continue
            record.run(name, partial(module, *given.args, **given.kwargs), True)


def optimizers(record: Record, only: str) -> None:
    """A step of every optimizer, in each of its forms."""
    from torch.testing._internal.common_optimizers import optim_db

    for info in optim_db:
        name = f"{info.optim_cls.__module__}.{info.optim_cls.__qualname__}.step"
        if only in name:
            record.apart(partial(_optimizer, record, info, name))


def _optimizer(record: Record, info: Any, name: str) -> None:
    for sample in info.optim_inputs_func(device="cpu"):
        for form in ({}, {"foreach": True}, {"foreach": False}):
            weight = torch.nn.Parameter(torch.randn(3, 4))
            weight.grad = torch.randn(3, 4)
            try:
                optimizer = info.optim_cls([weight], **{**sample.kwargs, **form})
            except Exception:
                record.failed += 1
                continue
            closure = [partial(torch.tensor, 1.0)] if info.step_requires_closure else []
            record.run(name, partial(optimizer.step, *closure))


def main() -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=int, default=5, help="the longest that one sample may take")
    parser.add_argument("--only", default="", help="entries whose names hold this text")
    options = parser.parse_args()
    torch.set_num_threads(1)
    record = Record(options.seconds)
    for table in (op_infos, module_infos, optimizers):
        table(record, options.only)
    os.makedirs(options.out, exist_ok=True)
    meta = {"how": "tests/real/measure_runtime.py", "torch": torch.__version__}
    for key, rows in (("api_ops", {"apis": record.apis}), ("runtime_edges", {"edges": record.edges})):
        what, found = next(iter(rows.items()))
        content = {what: {name: sorted(ops) for name, ops in sorted(found.items())}, "meta": meta}
        with gzip.open(options.out / f"{key}.json.gz", "wt") as file:
            json.dump(content, file)
        print(f"{what}: {len(found)}")
    print(f"samples that failed: {record.failed}; entries that crashed: {record.crashed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
