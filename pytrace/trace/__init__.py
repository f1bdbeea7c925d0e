"""Questions on an index. Everything here reads a ``Store`` and returns the plain values of ``answers``; nothing prints.

* ``resolve``: what people type -> nodes;
* ``walk``: down from a function to stubs, kernels, functors, operators, libraries;
* ``op``, ``api``, ``backward``: down, from an operator, a Python name, a formula;
* ``kernel``: up, from anything in C++ to operators and Python names;
* ``at``, ``search``: what stands on a line, what is called like this.
"""
