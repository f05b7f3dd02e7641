"""Duplicates whose URLs are better than those of the pages that are stored (DEDUP_PREFER)."""

from dataclasses import replace

from dedup.detector import Detector, Reservation
from dedup.limits import shorten_url
from dedup.preference import Copy, Preference
from dedup.rule import Verdict
from dedup.scrapy_plugin.notices import Notices
from dedup.stores import StoreDownError

_MOST_KNOWN = 100_000


class PreferredUrls:
    """Says which duplicates would have been the better copies, and has that remembered."""

    def __init__(self, preference: Preference, detector: Detector, notices: Notices) -> None:
        self._preference = preference
        self._detector = detector
        self._notices = notices
        # What stored pages of this crawl name as their canonical page, by number.
        self._canonicals: dict[int, str] = {}

    async def verdict(
        self, reservation: Reservation, url: str, canonical: str | None = None
    ) -> Verdict:
        """Return the verdict on the page at *url*, which names *canonical*, if anything.

        If it is a duplicate, and *url* is better than that of the stored page, it says so; the best
        of such URLs is noted.
        """
        verdict, claim, number = reservation
        assert verdict
        if claim and canonical and len(self._canonicals) < _MOST_KNOWN:
            self._canonicals[claim.number] = canonical
        if number is None or verdict.original is None or not self._preference:
            return verdict
        page = Copy(url, canonical)
        original = Copy(verdict.original, self._canonicals.get(number))
        try:
            if not self._preference.prefers(page, original):
                return verdict
            best = await self._detector.preferred(number)
            if best == verdict.original or self._preference.prefers(page, Copy(best)):
                best = shorten_url(url)
                self._detector.note_preferred(number, best)
        except StoreDownError:
            return verdict
        except Exception:  # of a criterion of somebody else's
            self._notices.count_error("the preference of <%s>", url)
            return verdict
        return replace(verdict, preferred=best)
