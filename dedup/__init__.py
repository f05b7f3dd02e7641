"""Near-duplicate detection for web pages, and the layer that brings it into Scrapy.

The parts import on their own (``dedup.text``, ``dedup.methods``, ``dedup.index``, ...); this module
loads none of them, so that a worker process and a command start fast.
"""

__version__ = "0.1.0"
