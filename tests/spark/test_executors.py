import time
from threading import Thread

import pytest

from dedup.spark import SparkError
from dedup.spark.executors import check_executors

pytestmark = pytest.mark.slow


def test_executors_that_begin_nothing_in_time_are_an_error(spark, tmp_path):
    """Other work holds them; a DataFrame waits for its end."""
    context = spark.sparkContext
    cores, url = context.defaultParallelism, str(tmp_path)

    def hold(batches):
        with open(f"{url}/{time.monotonic_ns()}", "w"):
            time.sleep(10)
        yield from batches

    rows = spark.range(cores).repartition(cores)
    work = Thread(target=lambda: rows.mapInArrow(hold, "id long").collect())
    work.start()
    try:
        while len(list(tmp_path.iterdir())) < cores:
            assert work.is_alive()
            time.sleep(0.05)
        with pytest.raises(SparkError, match="began no task within 1 seconds"):
            check_executors(spark, seconds=1)
        check_executors(spark)
    finally:
        work.join(100)
    assert not work.is_alive()
    check_executors(spark, seconds=100)


def test_what_executors_cannot_load_is_an_error(spark):
    class Unloadable:
        def __reduce__(self):
            return __import__, ("no_such_module",)

    with pytest.raises(SparkError, match="cannot import what they need"):
        check_executors(spark, Unloadable())
