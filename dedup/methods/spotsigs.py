"""SpotSigs: short chains of content words after stop words."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field

from dedup.arrays import Array
from dedup.methods.arguments import check_whole, share, whole
from dedup.methods.digests import DigestMethod, count_common, digests
from dedup.text import Document

STOP_WORDS = frozenset(
    """
    a about above after again against all also am an and any are as at be because been before being
    below between both but by can cannot could d did do does doing done down during each either
    else even ever every few for from further had has have having he her here hers herself him
    himself his how however i if in into is it its itself just ll m may me might more most much must
    my myself neither no nor not now of off often on once one only or other our ours ourselves out
    over own per re s same shall she should since so some such t than that the their theirs them
    themselves then there therefore these they this those though through thus to too under until up
    upon us ve very via was we were what when where whether which while who whom whose why will with
    within without would yet you your yours yourself yourselves

    的 地 得 了 着 过 是 在 有 和 与 及 以及 或 或者 并 并且 而 而且 且 但 但是 将 被 把 给 让 使
    对 对于 从 由 自 向 往 到 于 以 为 因 因为 所以 因此 如 如果 若 则 就 才 都 也 又 还 再 更 最
    很 太 不 没 没有 无 非 未 可 可以 能 能够 会 要 应 应当 应该 须 必须 需 需要 这 那 此 该 其 各
    每 某 这个 那个 这些 那些 这样 那样 这里 那里 什么 怎么 哪 哪些 谁 我 你 您 他 她 它 我们 你们
    他们 她们 它们 自己 其他 其它 其中 之 所 者 等 等等 上 下 中 里 内 外 前 后 时 吗 呢 吧 啊 呀
    嘛 们 一 一个 个 只 只有 只是 还是 还有 不是 就是 虽然 即 即使 按 按照 根据 关于 通过 进行 已
    已经 正在 曾 并不 之间 之后 之前 以后 以前 以上 以下
    """.split()
)
# Articles and forms of be, can, will, have and do: the best antecedents of the paper.
_ANTECEDENTS = """
    a an the am is are was were be been being can could will would have has had having do does did
    done doing 的 了 是 在 有 和 与 将 被 把 这 那
""".split()
ANTECEDENTS = dict.fromkeys(_ANTECEDENTS, (1, 3))


@dataclass(eq=False)
class SpotSigs(DigestMethod):
    """Matches pages whose spots, short chains of words after stop words, are alike.

    A spot starts at each occurrence of an antecedent, which is itself a stop word. It is the
    antecedent followed by *chain length* content words, each the *spot distance*-th content word
    after the previous one; *antecedents* has both numbers of each, the spot distance first. A chain
    that the end of the text interrupts does not count. Stop words are frequent in running text but
    rare in navigation and lists, which have few spots; a page with fewer than *min_spots* has no
    sketch.

    The distance is 1 - J, where J is the Jaccard similarity of the multisets of spots: the sum of
    the lesser counts divided by the sum of the greater ones. The Chinese stop words are this
    project's own. (With all of `STOP_WORDS` as antecedents, (1, 2) each, and a threshold of .3 the
    method makes fewer errors, with sketches three times as long.)

    Source: Theobald, Siddharth, Paepcke, "SpotSigs: Robust and Efficient Near Duplicate Detection
    in Large Web Collections", SIGIR 2008, section 3.
    """

    name = "spotsigs"
    version = 2
    sweep = ("max_distance", tuple(step / 20 for step in range(20)))

    max_distance: float = share(0.4)
    _: KW_ONLY
    antecedents: Mapping[str, Sequence[int]] = field(default_factory=lambda: ANTECEDENTS)
    min_spots: int = whole(4, 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_distance == 1:
            raise ValueError(f"max_distance must be below 1, got {self.max_distance!r}")
        given = self.antecedents
        try:
            self.antecedents = {word: [each, count] for word, (each, count) in given.items()}
        except (AttributeError, TypeError, ValueError):
            self.antecedents = {}
        if not self.antecedents:
            raise ValueError(f"antecedents must be words with two numbers, got {given!r}")
        for antecedent, (distance, length) in self.antecedents.items():
            check_whole(f"the spot distance of {antecedent!r}", distance, 1)
            check_whole(f"the chain length of {antecedent!r}", length, 1)

    def sketch(self, document: Document) -> Array | None:
        """Return the digests of the spots, shape (n,), uint64, or ``None`` if there are too few."""
        spots = self.weighted_features(document).elements()
        return digests(spots, self.hashing, self.min_spots)

    def weighted_features(self, document: Document) -> Counter[str]:
        return Counter(find_spots(document.tokens, self.antecedents))

    def distance(self, sketch: Array, other: Array) -> float:
        shared, size = count_common(sketch, other), len(sketch) + len(other)
        # One division of integers: in floats, 1 - .9 is less than .1.
        return (size - 2 * shared) / (size - shared)

    def least_shared_keys(self, count: int, within: float) -> int:
        """Return 1 - *within* of *count*: J is at most that share.

        Source: Theobald, Siddharth, Paepcke 2008, section 4.2; Chaudhuri, Ganti, Kaushik, "A
        Primitive Operator for Similarity Joins in Data Cleaning", ICDE 2006 (prefix filter).
        """
        return max(1, int((1 - within) * count))


def find_spots(tokens: Iterable[str], antecedents: Mapping[str, Sequence[int]]) -> Iterator[str]:
    """Yield the spots of *tokens* in order: each antecedent with the words of its chain.

    >>> list(find_spots("at a rally to kick off the week".split(), {"a": (1, 2), "the": (1, 2)}))
    ['a:rally:kick']
    """
    words: list[str] = []
    starts = []
    for token in tokens:
        if token in antecedents:
            starts.append((token, len(words)))
        elif token not in STOP_WORDS:
            words.append(token)
    for antecedent, start in starts:
        distance, length = antecedents[antecedent]
        last = start + distance * length - 1
        if last < len(words):
            yield ":".join((antecedent, *words[start + distance - 1 : last + 1 : distance]))
