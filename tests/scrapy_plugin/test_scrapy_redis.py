"""Workers of scrapy-redis on one queue: real processes, over a real Redis server."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from projects import Project
from redis import Redis
from redis_server import RedisServer, redis_server
from test_fleet import CONTENTS, SECONDS, copies
from test_recipes import block_with
from web import Answer, served

pytest.importorskip("scrapy_redis", reason="needs scrapy-redis: .[test-all]")
pytestmark = pytest.mark.slow

WORKER = """
from scrapy_redis.spiders import RedisSpider


class Worker(RedisSpider):
    name = "worker"

    def parse(self, response):
        yield {"url": response.url}
        yield from response.follow_all(css="a")
"""
QUEUE = "worker:start_urls"


def settings_of_the_recipe(server: RedisServer) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    exec(block_with("scrapy_redis.scheduler"), settings)
    del settings["__builtins__"]
    local = server.url.removesuffix("/0")
    shown = "redis://localhost:6379"
    return {
        name: value.replace(shown, local) if isinstance(value, str) else value
        for name, value in settings.items()
    }


def test_workers_of_one_queue_store_each_content_once(tmp_path: Path):
    """Test_fleet.py has crawls that are killed."""
    links = "".join(f'<p><a href="{path}">{path}</a>' for path in copies())
    pages = {"/": f"<html><title>All</title><body>{links}", **copies()}
    asked: list[str] = []

    def answer(path: str, _: Any) -> Answer:
        asked.append(path)
        return Answer(pages[path].encode())

    with redis_server() as server, served(answer) as site, Redis(port=server.port) as client:
        project = Project(
            tmp_path / "workers", {}, **settings_of_the_recipe(server), CONCURRENT_REQUESTS=2,
            DOWNLOAD_DELAY=0.25,  # one that is idle asks for requests every five seconds
            DEDUP_WORKERS=0, DEDUP_MAX_DISTANCE=8, MAX_IDLE_TIME_BEFORE_CLOSE=8,
        )  # fmt: skip
        (project.folder / "project" / "spiders" / "worker.py").write_text(WORKER)
        client.lpush(QUEUE, json.dumps({"url": f"{site}/"}))
        workers = [project.start("crawl", "worker", "-o", f"{n}.jsonl") for n in range(2)]
        logs = [worker.communicate(timeout=SECONDS)[0] for worker in workers]
    lines = "".join(path.read_text() for path in project.folder.glob("*.jsonl"))
    urls = [json.loads(line)["url"] for line in lines.splitlines()]
    stored = Counter(url.split("/")[3] for url in urls if not url.endswith("/"))
    assert stored == {str(number): 1 for number in range(CONTENTS)}, "\n".join(logs)
    assert sorted(asked) == sorted(pages)
    assert not [log for log in logs if "log_count/ERROR" in log]
    judged = [int(count) for log in logs for count in re.findall(r"'dedup/pages': (\d+)", log)]
    assert len(judged) == 2, "the other has done it all"
    assert sum(judged) >= 3 * CONTENTS
