"""One session of Spark for all tests here."""

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from log_servers import skip_without_server

if find_spec("pyspark") is None:
    collect_ignore_glob = ["*"]


@pytest.fixture(scope="session")
def needs_java():
    """Skip the test where there is no Java; in CI, it fails."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which(Path(home) / "bin" / "java" if home else "java") is None:
        skip_without_server("there is no java: apt install default-jre-headless")


@pytest.fixture(scope="session")
def spark(needs_java):
    """A session on two cores, whose workers run this very Python and import what tests do."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master("local[2,3]").config("spark.ui.enabled", False)
    builder = builder.config("spark.ui.showConsoleProgress", False)
    session = builder.config("spark.sql.shuffle.partitions", 2).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
