"""Which titles and headlines are those of a site, and not of its pages."""

from collections import OrderedDict

from dedup.evidence.evidence import Evidence


class Names:
    """Learns which titles and headlines a host gives to many of its pages, in bounded memory.

    Such a name is that of the site. Of each host, eight candidates are counted, which are sure to
    hold every name of more than a ninth of its pages.

    Source: Misra, Gries, "Finding Repeated Elements", Science of Computer Programming 2, 1982.
    """

    candidates = 8
    hosts = 10_000
    """So many hosts are known; of more, the one that was not met for longest is forgotten."""

    def __init__(self) -> None:
        self._hosts: OrderedDict[str, tuple[int, dict[bytes, int]]] = OrderedDict()

    def learn(self, host: str, page: Evidence) -> None:
        """Take note of the names of another page of *host*."""
        self.learn_names(host, page.title, page.headline)

    def learn_names(self, host: str, title: bytes, headline: bytes) -> None:
        """Do what `learn` does for a page with these names, which are empty where it has none."""
        pages, counts = self._hosts.get(host, (0, {}))
        for name in (title,) if title == headline else (title, headline):
            if not name:
                continue
            if name in counts or len(counts) < self.candidates:
                counts[name] = counts.get(name, 0) + 1
            else:
                counts = {other: count - 1 for other, count in counts.items() if count > 1}
        self._hosts[host] = pages + 1, counts
        self._hosts.move_to_end(host)
        if len(self._hosts) > self.hosts:
            self._hosts.popitem(last=False)

    def is_common(self, host: str, name: bytes, at_least: int = 1) -> bool:
        """Return whether about a quarter of the pages of *host* or more have *name*.

        And *at_least* so many. Of fewer than eight pages, nobody knows: then that is enough.
        """
        pages, counts = self._hosts.get(host, (0, {}))
        return counts.get(name, 0) >= max(at_least, pages / 4 if pages >= 8 else 1)
