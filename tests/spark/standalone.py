"""A cluster of Spark's own, on loopback: a master, and workers of one core each."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from urllib.request import urlopen

from redis_server import free_port

PYSPARK = Path(find_spec("pyspark").origin).parent  # not imported before it is needed
CLASS = PYSPARK / "bin" / "spark-class"
_SECONDS = 1800
_SECONDS_TO_START = 120


def environment(**own):
    """Return that of a process which imports what tests do, with some variables of its *own*."""
    path = os.pathsep.join([*filter(None, sys.path), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "SPARK_LOCAL_IP": "127.0.0.1", **own}


class Cluster:
    """Its processes end with `stop`, and after half an hour in any case."""

    def __init__(self, folder, workers=2):
        """Start it; *folder* is for its logs and what executors keep."""
        self.folder = folder
        port, self._ui_port = free_port(), free_port()
        self.url = f"spark://127.0.0.1:{port}"
        self._processes = []
        try:
            self._start("master.Master", "--port", port, "--webui-port", self._ui_port)
            self._wait_for(0)
            for number in range(workers):
                work = folder / f"work{number}"
                self._start("worker.Worker", "--webui-port", 0, "--cores", 1, "--memory", "1g",
                    "--work-dir", work, self.url)  # fmt: skip
            self._wait_for(workers)
        except BaseException:
            self.stop()
            raise

    def _start(self, name, *options):
        own = {"SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
        own["SPARK_LOCAL_DIRS"] = str(self.folder)
        command = [CLASS, f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1", *options]
        with open(self.folder / f"{name}{len(self._processes)}.log", "wb") as log:
            self._processes.append(
                subprocess.Popen(
                    ["timeout", "--kill-after=1", str(_SECONDS), *map(str, command)],
                    stdout=log,
                    stderr=log,
                    env=environment(**own),
                    start_new_session=True,
                )
            )

    def _wait_for(self, workers):
        deadline = time.monotonic() + _SECONDS_TO_START
        while time.monotonic() < deadline:
            with (
                suppress(OSError, ValueError),
                urlopen(f"http://127.0.0.1:{self._ui_port}/json/", timeout=5) as told,
            ):
                if json.load(told)["aliveworkers"] == workers:
                    return
            time.sleep(0.2)
        raise TimeoutError(f"no cluster of {workers} workers: see {self.folder}")

    def kill_a_worker(self):
        """Kill one, and its executor, as nothing can prevent it."""
        _kill(self._processes.pop())

    def stop(self):
        while self._processes:
            _kill(self._processes.pop())


def _kill(process):
    """Kill a process and all that it has started and not left alone."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
