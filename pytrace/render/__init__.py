"""Plain values of ``pytrace.trace.answers`` in, text out. Nothing here asks the store.

* ``page``: lines of styled spans, columns, wrapping, colours, hyperlinks;
* ``tree``: a tree of ``Step`` values;
* ``text``: the answers for people, one function for each;
* ``json_text``: the same values for programs.
"""
