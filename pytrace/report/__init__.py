"""Reports for reviews and CI: many operators at once, or two states of a tree. Plain data out; nothing here prints.

* ``operators``: the table operator x backend, and its filters (``filters``) and totals (``totals``);
* ``stubs``: dispatch stubs x device;
* ``reach``: what each kernel function reaches, by one pass over all edges;
* ``queries``: the SQL of these tables; ``rows``: what they return.
"""
