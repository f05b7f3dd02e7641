import random

from dedup.report.timeline import Timeline


def test_few_pages_have_a_bucket_each():
    timeline = Timeline(2, limit=4)
    for kind in (0, 1, 1, 0):
        timeline.add(kind)
    assert (timeline.width, timeline.buckets) == (1, [[1, 0], [0, 1], [0, 1], [1, 0]])


def test_buckets_merge_as_the_crawl_grows():
    chooser = random.Random(1)
    kinds = [chooser.randrange(3) for _ in range(1000)]
    timeline = Timeline(3, limit=10)
    for count, kind in enumerate(kinds, 1):
        timeline.add(kind)
        width = timeline.width
        parts = [kinds[start : min(start + width, count)] for start in range(0, count, width)]
        assert timeline.buckets == [[part.count(kind) for kind in range(3)] for part in parts]
        assert len(timeline.buckets) <= 10
    assert timeline.width == 128
