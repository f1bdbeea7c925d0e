"""The command line: one file a command; it parses options, asks ``trace``, and hands the answer to ``render``."""

import gc

# A command lives for a tenth of a second and makes hardly a cycle: with Python's default the collector would look
# through everything that is imported some thirty times, 3 % of a question.
gc.set_threshold(100_000, 20, 20)
