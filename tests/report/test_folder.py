"""The folder of reports: its files of numbers."""

import json

from cases import each
from report_of import changed, names, report_of

from dedup.report.report import write_json

EMPTY = report_of([])
NEWS = changed(EMPTY, spider="news", started="2026-01-02T03:04:05+00:00")


def test_it_is_named_after_the_site_and_the_start_and_overwrites_nothing(tmp_path):
    paths = [write_json(changed(NEWS, errors=n), tmp_path / "new") for n in range(3)]
    start = "news-2026-01-02T030405Z"
    assert [path.name for path in paths] == [f"{start}.json", f"{start}-2.json", f"{start}-3.json"]
    assert [json.loads(path.read_text())["errors"] for path in paths] == [0, 1, 2]


def test_the_site_is_the_host_of_most_pages_or_else_the_spider(tmp_path):
    def name(*hosts):
        counts = names(len(hosts), *((*host, 0) for host in hosts))
        pages = changed(NEWS.pages, judged=sum(pages for _, pages in hosts))
        path = write_json(changed(NEWS, hosts=counts, pages=pages), tmp_path)
        return path.name.partition("-2026")[0]

    assert name(("shop.example:8000", 9), ("b.example", 2)) == "shop.example_8000"
    assert name(("a.example", 2), ("b.example", 2), ("c.example", 2)) == "news"
    assert name(("..", 2)) == "news"
    assert name() == "news"


@each("spider", ["../a b", "x" * 300, "爬虫" * 200, "", "\ud800"])
def test_any_name_of_a_spider_makes_a_name_of_a_file_in_the_folder(tmp_path, spider):
    path = write_json(changed(NEWS, spider=spider), tmp_path)
    assert path.parent == tmp_path
    assert json.loads(path.read_text("utf-8"))["spider"] == spider
