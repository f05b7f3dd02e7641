"""Page -> verdict: looks at the view, decides by the rule, and tells the store."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from math import inf
from typing import NamedTuple

from dedup.claim import Claim
from dedup.earlier import Earlier, EarlierPages
from dedup.evidence import Evidence, Objection
from dedup.follower import Follower
from dedup.index.base import Match
from dedup.methods.base import Method
from dedup.record import Claimed, PageRecord, Stored, with_digest
from dedup.rule import Decision, Kind, Rule, Verdict
from dedup.stores import (
    HistoryChangedError,
    LedgerError,
    MemoryStore,
    Store,
    StoreDownError,
    finished,
)
from dedup.view.view import Look

UNCHECKED = "unchecked"
"""Why a page is kept without a comparison while a shared store cannot be asked."""


class Reservation(NamedTuple):
    """What the detector says of a page that is about to be stored.

    *verdict* is ``None`` if that depends on another page, which is being stored: then *claim* is
    that one's, and the page has to be judged again when it has ended. If the page is new, *claim*
    is its own, and has to be committed or released. *original* is the number of the page that the
    verdict names, if it is known.
    """

    verdict: Verdict | None
    claim: Claim | None = None
    original: int | None = None


class Detector:
    """Judges pages one after the other; the first page of a content is the one that is kept.

    A page is compared with the kept pages of its scope only: one that was a duplicate is not
    remembered, so that chains of ever more different copies cannot form. A page is kept when its
    claim is committed, which says that it was stored; until then it only bars others.
    """

    def __init__(
        self,
        method: Method,
        rule: Rule | None = None,
        *,
        store: Store | None = None,
        several_a_key: bool = False,
        repeats_itself: bool = True,
        count: Callable[[str], object] = lambda name: None,
    ) -> None:
        """Create a detector without pages.

        *rule*: by default the `Rule` with its own defaults. *store*: where stored pages are kept,
        by default in memory. *several_a_key*: a key may stand for several contents, as the items of
        one page. *repeats_itself*: what comes again under the key of what it repeats is `REPEATED`,
        as a page that is met again, and no duplicate. *count* is called with the names of counters,
        of what becomes of a shared store.
        """
        self.method = method
        self.rule = Rule() if rule is None else rule
        self._several_a_key = several_a_key
        self._repeats_itself = repeats_itself
        self.store = MemoryStore() if store is None else store
        self.follower = Follower(method, self.rule, self.store, count)
        # Of several stored pages under one key, those that other visits have met again.
        self._met_again: set[int] = set()
        self._earlier = Earlier(self.follower, several_a_key=several_a_key)

    def judge(self, record: PageRecord) -> Verdict:
        """Return the verdict on *record*, and keep it if it is new.

        For use without claims: raises RuntimeError if a near page has an open one.
        """
        verdict, claim, _ = finished(self.reserve(record))
        if verdict is None:
            raise RuntimeError("a near page is being stored: reserve, and wait for its claim")
        self.follower.view.learn_names(record)
        if claim:
            self.follower.commit(claim)
        return verdict

    async def reserve(
        self,
        record: PageRecord,
        *,
        again: bool = False,
        own: Collection[Claim] = (),
        believes: Callable[[Objection, str], bool] | None = None,
    ) -> Reservation:
        """Return the verdict on *record*, and claim its content if it is new or changed.

        What was stored before under the same key is not compared with: with an equal
        normalised text and an equal item the page is unchanged, else it takes the place of that. Of
        others, exact duplicates have an equal text, near-duplicates a sketch within the method's
        threshold, of which the nearest, and of these the oldest, is the original; and one of its
        items says all that the item of *record* says. A page without main text is never a
        duplicate. *again*: the page is to be stored whatever is remembered; it is new, or changed,
        then. *own*: what was claimed for other items of the page, which are not compared with each
        other. *believes* says whether a page is a copy by its own word, in spite of an objection,
        of the page with a key. Raises StoreDownError if a shared store cannot be asked now.
        """
        reason = self.rule.reason_to_skip(record)
        if reason:  # compared with what it was itself, and with nothing else
            if record.digest or not (record.evidence and self.store.is_durable):
                return Reservation(self.skipped(reason))
            record = with_digest(record)
        for _ in range(_MOST_TRIES):
            try:
                reservation = await self._reserve(record, reason, again, own, believes)
                if reservation.verdict and reservation.verdict.kind is Kind.REPEATED:
                    # A page that is met again is news if what it says of its main text differs.
                    return await self._reserve(record, reason, again, own, as_a_whole=True)
                return reservation
            except HistoryChangedError:
                continue
        raise StoreDownError(f"{self.store.name} changes all the time")

    async def _reserve(
        self,
        record: PageRecord,
        reason: str | None,
        again: bool,
        own: Collection[Claim],
        believes: Callable[[Objection, str], bool] | None = None,
        *,
        as_a_whole: bool = False,
    ) -> Reservation:
        """*reason*: why *record* is compared with nothing else. *as_a_whole*: see `View.look`."""
        view = self.follower.view
        earlier = await self._earlier.pages(record.key, record.scope)
        if self.follower.view is not view:
            raise HistoryChangedError(f"{self.store.name} is read anew: look again")
        verdict, replaces = Verdict(Kind.NEW, self.method.name), list[int]()
        numbers, is_compared = set[int](), not (again or reason)
        if earlier:
            numbers = earlier.numbers
            if not again and (stored := earlier.unchanged(record)):
                return self._unchanged(stored, earlier)
            verdict, replaces = earlier.replaced_by(record, self._met_again)
            is_compared = is_compared and not earlier.has_changed_item(record)
        claims_so_far = view.claims_so_far
        claim = _claim_of_page(own, record.scope)
        if claim or replaces:
            believes = None
        look = None
        if is_compared:
            look = await self._look(record, numbers, own, claim, believes, as_a_whole=as_a_whole)
            if not look.is_of_new_page:
                return await self._barred(record, look, numbers)
        if claim:
            claim.add_item(record.item)
            return await self._kept(verdict, claim, look, reason)
        claim = await self.follower.claim(Claimed(record), view)
        claim.replaces = tuple(replaces)
        if look and view.claims_so_far > claims_so_far + 1:
            # Others claimed meanwhile, who had looked, too: of near pages, the lowest number holds.
            look = await self._look(record, numbers, own, claim, believes, as_a_whole=as_a_whole)
            if not look.is_of_new_page:
                self.follower.release(claim)
                return await self._barred(record, look, numbers)
        return await self._kept(verdict, claim, look, reason)

    def _unchanged(self, stored: Stored, earlier: EarlierPages) -> Reservation:
        self.store.note_seen(stored.number)
        if len(earlier.numbers) > 1:
            self._met_again.add(stored.number)
        verdict = Verdict(Kind.UNCHANGED, self.method.name, stored.record.key, 0)
        return Reservation(verdict, original=stored.number)

    async def _kept(
        self, verdict: Verdict, claim: Claim, look: Look | None, reason: str | None
    ) -> Reservation:
        """Return the reservation of a kept page; its verdict says what kept it, if that is known.

        *reason*: why it was compared with nothing else.
        """
        if reason:
            return Reservation(self.skipped(reason), claim)
        if not (look and look.objection and verdict.kind is Kind.NEW):
            return Reservation(verdict, claim)
        original = await self._key(look.page)
        verdict = Verdict(Kind.NEW, self.method.name, original, objection=look.objection)
        return Reservation(verdict, claim, look.page)

    async def _look(
        self,
        record: PageRecord,
        earlier: set[int],
        own: Collection[Claim],
        claim: Claim | None,
        believes: Callable[[Objection, str], bool] | None,
        *,
        as_a_whole: bool,
    ) -> Look:
        """Return what *record* is, without its title if it is a copy by its own word.

        Neither *earlier* pages nor *own* claims count, nor open ones after *claim*, the page's.
        """
        # Of the own ones, some may have got their numbers only now.
        apart_from = earlier.union(one.number for one in own)
        older_than = inf if claim is None or claim.number < 0 else claim.number
        look = self.follower.view.look(record, apart_from, older_than, as_a_whole=as_a_whole)
        if not (believes and look.is_of_new_page and look.objection):
            return look
        if not believes(look.objection, await self._key(look.page)):
            return look
        nameless = _without_names(record)
        believed = self.follower.view.look(nameless, apart_from, older_than)
        match = believed.decision.match
        return believed if believed.claim or (match and match.page == look.page) else look

    def renew(self, record: PageRecord, said: Mapping[int, Collection[bytes]]) -> None:
        """Have an entry of *record* take the place of stored pages whose items it says no more.

        *said*: what it has said again of the items of each, by number. If that is all that a page
        has, nothing changes.
        """
        view = self.follower.view
        replaced = [n for n, items in said.items() if not set(view.items_of(n)) <= set(items)]
        if not replaced:
            return
        claim = Claim(Claimed(with_digest(record)))
        if self.store.is_shared:
            self.follower.claim_later(claim)
        else:
            claim = finished(self.follower.claim(claim.claimed, view))
        claim.replaces = tuple(replaced)
        claim.items = [item for number in replaced for item in said[number]]
        self.follower.commit(claim)

    async def find(self, record: PageRecord) -> Verdict:
        """Return the verdict on *record* if it were another page, and keep nothing of it."""
        decision = self.follower.view.look(record).decision
        if reason := self.rule.reason_to_skip(record):
            return self.skipped(reason)
        return await self._verdict(decision)

    async def is_new(self, record: PageRecord) -> bool:
        """Return whether *record* would be new or changed now: nothing it repeats is there.

        Nothing that is about to be stored, either.
        """
        if self.rule.reason_to_skip(record):
            return False
        earlier = await self._earlier.pages(record.key, record.scope)
        if earlier and earlier.unchanged(record):
            return False
        numbers = earlier.numbers if earlier else ()
        return self.follower.view.look(record, numbers).is_of_new_page

    def unchecked(self, record: PageRecord) -> Reservation:
        """Return what is said of a page while a shared store cannot be asked: it is kept.

        It is claimed as soon as the store can be asked; not if it is never compared.
        """
        if reason := self.rule.reason_to_skip(record):
            return Reservation(self.skipped(reason))
        claim = Claim(Claimed(record))
        self.follower.claim_later(claim)
        return Reservation(self.skipped(UNCHECKED), claim)

    async def _barred(self, record: PageRecord, look: Look, earlier: set[int]) -> Reservation:
        """Return what is said of a page which may not be stored now, looked for beside *earlier*.

        Raises HistoryChangedError if the store has learned of more earlier pages since.
        """
        if match := look.decision.match:
            if self.store.is_shared:
                now = await self._earlier.pages(record.key, record.scope)
                if (now.numbers if now else set()) != earlier:
                    raise HistoryChangedError(
                        f"{self.store.name} has learned of more earlier pages: look again"
                    )
            verdict = await self._verdict(look.decision)
            if verdict.original != record.key or not self._repeats_itself:
                self.store.note_duplicate(
                    record.key, match.page, verdict.kind.value, verdict.distance or 0
                )
            elif not self._several_a_key:
                verdict = replace(verdict, kind=Kind.REPEATED)
            return Reservation(verdict, original=match.page if verdict.is_duplicate else None)
        return Reservation(None, look.claim)

    async def _verdict(self, decision: Decision[Match]) -> Verdict:
        match = decision.match
        if match is None:
            return Verdict(Kind.NEW, self.method.name)
        distance = 0 if decision.kind is Kind.EXACT else match.distance
        return Verdict(decision.kind, self.method.name, await self._key(match.page), distance)

    async def _key(self, number: int) -> str:
        """Return the key of page *number*; other words for it, if the store cannot be asked."""
        try:
            return (await self.store.pages([number]))[number].key
        except LedgerError:
            return self.store.key(number)

    def skipped(self, reason: str) -> Verdict:
        """Return the verdict on a page that is not compared, for *reason*."""
        return Verdict(Kind.SKIPPED, self.method.name, reason=reason)

    def __len__(self) -> int:
        return len(self.follower.view)


_MOST_TRIES = 3


def _claim_of_page(own: Collection[Claim], scope: str) -> Claim | None:
    """Return the open claim that a page has in *scope* already: its new items go with that."""
    return next((one for one in own if one.is_open and one.record.scope == scope), None)


def _without_names(record: PageRecord) -> PageRecord:
    """Return *record* without title, headline and words of its URL, which are then not compared."""
    assert record.evidence is not None
    evidence = Evidence.from_bytes(record.evidence)._replace(title=b"", headline=b"", words=0)
    return record._replace(evidence=evidence.to_bytes())
