"""Duplicates whose URLs are better than those of the pages that are stored (DEDUP_PREFER)."""

from dataclasses import replace

from dedup.claim import Claim
from dedup.limits import shorten_url
from dedup.preference import Copy, Preference
from dedup.rule import Verdict
from dedup.scrapy_plugin.notices import Notices
from dedup.stores import Store, StoreDownError

_MOST_KNOWN = 100_000


class PreferredUrls:
    """Says which duplicates would have been the better copies, and has that remembered."""

    def __init__(self, preference: Preference, store: Store, notices: Notices) -> None:
        self._preference = preference
        self._store = store
        self._notices = notices
        # What stored pages of this crawl name as their canonical page, by number.
        self._canonicals: dict[int, str] = {}

    async def verdict(
        self,
        verdict: Verdict,
        claim: Claim | None,
        number: int | None,
        url: str,
        canonical: str | None = None,
    ) -> Verdict:
        """Return *verdict* on the page at *url*, which names *canonical*, if anything.

        If it is a duplicate of page *number*, and *url* is better than that of the stored page, it
        says so; the best of such URLs is noted: later crawls that meet the same content under it
        take it for unchanged. *claim* is its own, if it is new.
        """
        if claim and canonical and len(self._canonicals) < _MOST_KNOWN:
            self._canonicals[claim.number] = canonical
        if number is None or verdict.original is None or not self._preference:
            return verdict
        page = Copy(url, canonical)
        original = Copy(verdict.original, self._canonicals.get(number))
        try:
            if not self._preference.prefers(page, original):
                return verdict
            best = await self._store.preferred(number)
            if best is None:
                best = (await self._store.pages([number]))[number].key
            if best == verdict.original or self._preference.prefers(page, Copy(best)):
                best = shorten_url(url)
                self._store.note_preferred(number, best)
        except StoreDownError:
            return verdict
        except Exception:  # of a criterion of somebody else's
            self._notices.count_error("the preference of <%s>", url)
            return verdict
        return replace(verdict, preferred=best)
