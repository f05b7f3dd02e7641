"""What an item says, and what of it is no content."""

from collections import OrderedDict, UserDict, deque
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from fractions import Fraction
from hashlib import md5, sha1, sha256
from pathlib import PurePosixPath
from uuid import UUID

import attrs
import pydantic
import pytest
import scrapy
from cases import each
from itemadapter import ItemAdapter
from own_process import outputs_by_seed
from texts import CHINESE, ENGLISH, article, page

from dedup.evidence import Evidence, digest_of_name, digest_of_title
from dedup.item_values import (
    LONG_TEXT,
    PageOfItem,
    UnreadableItemError,
    Value,
    _texts_of_menus,
    has_long_text,
    values_of,
)
from dedup.record import MOST_VALUES, SIZE_OF_VALUE, keys_of, values_in

URL = "http://a.example/items/7?page=2"
FOUND = "http://a.example/old"
BEGAN = datetime(2026, 5, 1, 12, tzinfo=UTC)
FETCHED = BEGAN + timedelta(hours=1)
PAGE = PageOfItem([URL, FOUND], [BEGAN.timestamp(), FETCHED.timestamp()])


def said(item, page=PAGE, ignored=()):
    return page.what_says(values_of(item, ItemAdapter, ignored))


def contents(item, page=PAGE, ignored=()):
    """What *item* says, as the fields and the texts that stand for what is in them."""
    return sorted(said(item, page, ignored).contents.values())


def says_all(one, other, page=PAGE):
    """Whether *one* says all that *other* says."""
    return said(other, page).keys <= said(one, page).keys


def are_equal(one, other, page=PAGE):
    return said(one, page).to_bytes() == said(other, page).to_bytes()


class Offer(scrapy.Item):
    name = scrapy.Field()
    offers = scrapy.Field()
    tags = scrapy.Field()


@dataclass
class Price:
    price: int = 0
    currency: str | None = None


@dataclass
class DataOffer:
    name: str = ""
    offers: list = field(default_factory=list)
    tags: tuple = ()


@attrs.define
class AttrsOffer:
    name: str = ""
    offers: list = attrs.field(factory=list)
    tags: list = attrs.field(factory=list)


class PydanticOffer(pydantic.BaseModel, extra="allow"):
    """It says what it has besides its fields, too."""

    name: str
    tags: list[str]


ITEM = {"name": "Kettle", "offers": [{"price": 5}, {"price": 6}], "tags": ["red", "new"]}


class TestWhatIsRead:
    def test_values_have_paths_with_places_and_fields_without(self):
        assert values_of(ITEM, ItemAdapter) == [
            Value("name", "name", "Kettle"),
            Value("offers.0.price", "offers.price", 5),
            Value("offers.1.price", "offers.price", 6),
            Value("tags.0", "tags", "red"),
            Value("tags.1", "tags", "new"),
        ]

    @each(
        "item",
        [
            OrderedDict(ITEM),
            UserDict(ITEM),
            Offer(ITEM),
            Offer(ITEM | {"offers": deque([Price(5), Price(6)])}),
            DataOffer("Kettle", [Price(5), Price(6)], ("red", "new")),
            AttrsOffer("Kettle", [{"price": 5}, Price(6)], deque(["red", "new"])),
            PydanticOffer.model_validate(ITEM),
        ],
    )
    def test_every_kind_of_item_says_what_a_dict_says(self, item):
        assert contents(item) == contents(ITEM)
        assert said(item).to_bytes() == said(ITEM).to_bytes()

    @each(
        "nothing",
        [None, "", " \n", "\u00a0", [], (), {}, set(), [None], ["", " "], [[]], {"a": None}, [{}]],
    )
    def test_what_is_empty_says_nothing(self, nothing):
        assert said({"a": nothing}).to_bytes() == b""
        assert are_equal({"a": nothing, "b": 1}, {"b": 1})

    @each("value", [0, False, 0.0, "0", b"\0", timedelta(0), Decimal(0)])
    def test_nought_is_not_nothing(self, value):
        assert said({"a": value}).to_bytes()

    @each(
        ("one", "other"),
        [
            ({"a": "x  y\n z "}, {"a": "x y z"}),
            ({"a": "x\u00a0y"}, {"a": "x y"}),
            ({"a": ["x", None]}, {"a": ["x", ""]}),
            ({"a": ["\n  ", "x", " ", "y"]}, {"a": ["x", "y", "\n"]}),
            ({"a": Decimal("5.00")}, {"a": "5.00"}),
        ],
    )
    def test_white_space_and_types_do_not_count(self, one, other):
        assert are_equal(one, other)

    @each(
        ("one", "other"),
        [
            ({"a": (5, 6)}, {"a": (6, 5)}),
            ({"a": ("x", "y")}, {"a": ("y", "x")}),
            ({"a": ["Yes", "No", "Yes"]}, {"a": ["No", "Yes", "Yes"]}),
            ({"a": deque([3, 1])}, {"a": [1, 3]}),
            ({"a": ["", "3"]}, {"a": ["3", ""]}),
            ({"a": [(1, 2)]}, {"a": [(2, 1)]}),
            ({"a": "5 €"}, {"a": "5 $"}),
        ],
    )
    def test_case_and_the_place_in_lists_and_tuples_count(self, one, other):
        assert not says_all(one, other)
        assert not says_all(other, one)

    @each(
        ("value", "text"),
        [
            (b"ab", None),
            (Decimal("1.50"), "1.50"),
            (Fraction(1, 3), "1/3"),
            (date(2026, 5, 1), "2026-05-01"),
            (datetime(2025, 5, 1, 12, 30), "2025-05-01T12:30:00"),
            (time(12, 30), "12:30:00"),
            (timedelta(hours=1), "1:00:00"),
            (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
            (PurePosixPath("/a/b c"), "/a/b c"),
            (Enum("Colour", {"RED": "red"}).RED, "red"),
            (StrEnum("Colour", {"RED": "red"}).RED, "red"),
            (IntEnum("Size", {"XL": 4}).XL, "4"),
            (1.5, "1.5"),
            (float("nan"), "nan"),
            ("\ud800", "\ud800"),
        ],
    )
    def test_single_values_are_told_as_text(self, value, text):
        [(name, told)] = contents({"a": value})
        assert name == "a"
        assert told == text or text is None
        assert not says_all({"a": value}, {"a": "else"})


class Unreadable:
    """What cannot be read."""


class Refusing(str):
    def split(self, *args):
        raise RuntimeError("refused")


def nested(depth):
    value = "deep"
    for _ in range(depth):
        value = {"x": value}
    return value


class TestWhatCannotBeRead:
    @each(
        ("item", "name"),
        [
            ({"ok": 1, "a": Unreadable()}, "a"),
            ({"a": {"b": [1, Unreadable()]}}, "a.b"),
            ({"a": (value for value in "ab")}, "a"),
            ({"a": map(str, "ab")}, "a"),
            ({"a": memoryview(b"ab")}, "a"),
            ({"a": {"b": Refusing("text")}}, "a.b"),
            ({"a": 10**5000}, "a"),
            (DataOffer(name=Unreadable()), "name"),
        ],
    )
    def test_is_an_error_that_names_the_field(self, item, name):
        with pytest.raises(UnreadableItemError) as caught:
            said(item)
        assert str(caught.value) == name

    @each("make", [list, dict, tuple])
    def test_what_is_too_deep_or_contains_itself_is_an_error_that_names_the_field(self, make):
        cycle = []
        cycle.append([cycle] if make is list else {"x": cycle} if make is dict else (cycle,))
        for value in (cycle, nested(50)):
            with pytest.raises(UnreadableItemError, match=r"\Aa\b"):
                values_of({"a": value, "ok": 1})

    @pytest.mark.slow
    def test_what_has_too_many_values_is_an_error_before_long(self):
        value = "x"
        for _ in range(18):
            value = [[value, value]]
        with pytest.raises(UnreadableItemError):
            values_of({"a": value})


class TestUrls:
    @each("url", [URL, FOUND, f" {URL}\n"])
    def test_those_of_the_page_itself_say_nothing(self, url):
        assert contents({"a": url, "b": [url, "x"]}) == [("b", "x")]

    @each("make", [md5, sha1, sha256])
    @pytest.mark.parametrize("url", [URL, FOUND])
    def test_nor_do_their_usual_hashes(self, url, make):
        own, other = (make(each.encode()).hexdigest() for each in (url, f"{url}x"))
        assert contents({"id": own, "upper": own.upper()}) == []
        assert contents({"id": other}) == [("id", other)]

    def test_raw_hashes_and_those_of_others_are_values(self):
        raw = md5(URL.encode()).digest()
        assert len(contents({"id": raw, "of": f"id-{md5(URL.encode()).hexdigest()}"})) == 2

    @each(
        ("url", "told"),
        [
            ("http://a.example/b?c=d#e", "/b?c=d#e"),
            (f"{URL}#p2", "#p2"),
            (pydantic.HttpUrl("http://a.example/b"), "/b"),
            ("//a.example/b", "/b"),
            ("/b", "/b"),
            ("http://a.example", "/"),
            ("http://b.example/b", "http://b.example/b"),
            ("http://a.example:81/b", "http://a.example:81/b"),
            ("http://[broken/b", "http://[broken/b"),
            ("data:text/plain,x", "data:text/plain,x"),
            *(
                (text, text)  # with a URL in it
                for text in ("see http://a.example/b", "http://a.example/b c", "mailto:a@b.c")
            ),
        ],
    )
    def test_others_on_the_host_of_the_page_count_without_it_and_those_of_others_whole(
        self, url, told
    ):
        assert contents({"a": url}) == [("a", told)]


class TestTimes:
    @each("moment", [BEGAN, FETCHED])
    @pytest.mark.parametrize("minutes", [-2.9, 0, 2.9])
    def test_near_the_fetch_or_the_start_say_nothing(self, moment, minutes):
        at = moment + timedelta(minutes=minutes)
        zoned = at.astimezone(timezone(timedelta(hours=9)))
        naive = at.replace(tzinfo=None)
        iso = [at.isoformat(), zoned.isoformat(), naive.isoformat(), f"{naive:%Y-%m-%d %H:%M:%S}"]
        unix = [at.timestamp(), int(at.timestamp()), int(at.timestamp() * 1000)]
        for value in (at, zoned, naive, *iso, f"{naive:%Y-%m-%dT%H:%M:%SZ}", *unix):
            assert contents({"a": value}) == [], value

    @each("minutes", [-4, 4, 24 * 60])
    def test_others_are_values(self, minutes):
        at = FETCHED + timedelta(minutes=minutes)
        values = [at, at.isoformat(), at.timestamp(), int(at.timestamp())]
        assert len(contents(dict(enumerate(values)))) == 4

    @each(
        "value",
        [
            "2026-05-01",
            date(2026, 5, 1),
            "12:00:00",
            "2026-05-01T12:00 o'clock",
            f"at {BEGAN.isoformat()}",
            str(int(BEGAN.timestamp())),
            "2026-13-01T12:00:00",
            datetime.min,
            datetime.max,
            float("inf"),
            10**400,
        ],
    )
    def test_days_and_what_is_no_time_count(self, value):
        assert len(contents({"a": value})) == 1


MAIN = f"{ENGLISH} {article(3, 40)}"
HTML = page(MAIN, footer="Tea from Ceylon").replace(
    "</body>",
    '<script>{"secret": "scripted"}</script><style>p{color:styled}</style><!-- hushed -->'
    '<img alt="described"><template>templated</template>\n'
    "<p>in<b>li</b>ne &eacute;toile</p></body>",
)


def of_text(text, html=HTML, main_text=MAIN):
    return contents({"text": text}, PageOfItem([URL], main_text=main_text, html=html))


def beside(text, html=HTML, main_text=MAIN):
    """What counts of a main *text* besides that there is one."""
    whole = " ".join(text.split())
    found = [told for _, told in of_text(text, html, main_text)]
    assert whole in found
    return [told for told in found if told != whole]


class TestTexts:
    def test_the_main_text_says_nothing_however_it_is_set(self):
        half = " ".join(MAIN.split()[: len(MAIN.split()) * 2 // 3])
        for text in (
            MAIN,
            MAIN.upper(),
            f"\n{MAIN}",
            MAIN.replace(" ", "\n\t"),
            half,
            f"{MAIN} tea from Ceylon",
        ):
            assert beside(text) == []

    def test_that_there_is_a_main_text_counts(self):
        """Else the first page whose item lacks it would have all texts dropped."""
        with_text, without = ({"text": text, "tag": 1} for text in (MAIN, ""))
        page = PageOfItem([URL], html=HTML, main_text=MAIN)
        assert says_all(with_text, without, page)
        assert not says_all(without, with_text, page)
        assert not says_all({"body": MAIN, "tag": 1}, with_text, page)

    def test_the_numbers_of_the_main_text_count_where_an_item_has_it_or_will_have_it(self):
        def numbers(item, **options):
            page = PageOfItem([URL], html=HTML, main_text=MAIN, numbers=["1,250", "5"], **options)
            return [told for told in contents(item, page) if told[1] in ("5", "1,250")]

        def of(field):
            return [(f"numbers of {field}", "1,250"), (f"numbers of {field}", "5")]

        assert numbers({"name": "Desk"}) == []
        assert numbers({"name": "Desk", "text": f"{MAIN} tea"}) == of("text")
        assert numbers({"html": f"<p>{MAIN}</p>", "text": MAIN}) == of("html")
        assert numbers({"name": "Desk"}, text_field="body") == of("body")

    def test_of_the_main_text_only_words_count_that_neither_that_nor_a_menu_has(self):
        text = f"{MAIN} Coffee from Ceylon, inline étoile, -3 cups. Tea from Ceylon"
        assert beside(text) == ["Coffee inline étoile, -3 cups."]
        assert beside(f"coffee {MAIN}") == ["coffee"]  # in HTML, the next word counts, too

    @each("word", ["scripted", "styled", "hushed", "described", "templated"])
    def test_a_word_that_nobody_sees_on_the_page_counts(self, word):
        assert beside(f"{MAIN} {word}") == [word]

    def test_a_text_that_stands_only_in_a_script_is_a_value_as_all_others(self):
        other = article(4)
        html = HTML.replace("</body>", f"<script>{other}</script></body>")
        assert of_text(other, html) == [("text", " ".join(other.split()))]
        assert of_text(other, html, "") == of_text(other, html, None) == of_text(other, html)

    def test_a_word_of_hindi_is_more_than_its_consonants(self):
        main_text = "मूल्य सूची में लाल और नीला रंग है " * 10
        assert beside(f"{main_text} मल मील", main_text=main_text) == ["मल मील"]

    def test_of_texts_with_less_than_half_of_the_words_all_counts(self):
        words = sorted(set(MAIN.lower().split()))
        few = " ".join(words[: len(words) * 4 // 9]) + " x" * LONG_TEXT
        assert of_text(few) == [("text", few)]

    def test_attributes_and_scripts_in_it_count_in_order_as_they_are(self):
        html = f"<p data-price=-5.1>{MAIN}</p><i class=Aa></i><script>data: 'b'</script><!-- b -->"
        assert beside(html, html) == [f"-5.1 {MAIN.split()[0]} Aa data: 'b'"]
        one, other = (
            f"{MAIN} <li{first}>Old tea</li> <li{second}>ferry</li> <b class=seen>9</b>"
            for first, second in ((" class=chosen", ""), ("", " class=chosen"))
        )
        main_text = f"{MAIN} old tea ferry 9"
        assert beside(one, main_text=main_text) == ["chosen Old seen 9"]
        assert beside(other, main_text=main_text) == ["chosen ferry seen 9"]
        chosen = f"<p>{MAIN}</p><option>Old</option><option selected=''>tea</option>"
        assert beside(chosen, main_text=main_text) == ["selected tea"]

    @pytest.mark.parametrize("text", ['{"a": "</p>"}', '["</p>"]', "</p> \ud83d", "</p>"])
    def test_any_text_that_mentions_tags_is_read(self, text):
        long = text + "x" * LONG_TEXT
        assert of_text(long) == [("text", long)]

    def test_as_a_whole_it_counts_where_the_page_is_met_again(self):
        page = PageOfItem([URL], html="<nav>now 5 EUR</nav>", main_text=MAIN)
        items = [said({"text": text}, page) for text in (MAIN, f"{MAIN} now 5 EUR")]
        assert items[0].keys == items[1].keys
        assert items[0].to_bytes() != items[1].to_bytes()
        assert values_in(items[1].to_bytes()) == items[0].keys

    def test_words_that_nobody_separates_count_only_where_they_stand_nowhere(self):
        main_text, html = CHINESE * 3, "<nav>昨晚十点关门</nav>"
        assert beside(main_text, html, main_text) == []
        assert beside(f"{main_text}五点开门。 昨晚十点关门。", html, main_text) == []
        assert beside(f"{main_text} 十点关门。", html, main_text) == ["十点关门。"]
        assert beside(f"{main_text} 昨天下雨", html, main_text) == ["昨天下雨"]

    def test_so_many_pieces_that_a_search_takes_long_count(self):
        for count, is_searched in ((1_000, True), (20_000, False)):
            main_text = "".join(chr(0x4E00 + n % 20_000) for n in range(20 * count))
            pieces = [main_text[n : n + 4] for n in range(0, 4 * count, 4)]
            text = f"{main_text} {' '.join(pieces)}"
            assert bool(beside(text, main_text=main_text)) != is_searched

    @each(
        "menu",
        [
            "<nav>{}</nav>",
            "<ul role=navigation><li>{}</ul>",
            "<header>{}</header>",
            "<header><nav></nav>{}</header>",
            "<div role=banner>{}</div>",
            "<div role=contentinfo>{}</div>",
        ],
    )
    def test_what_has_the_main_text_is_no_menu(self, menu):
        text = f"{MAIN} Coffee"
        assert beside(text, menu.format("Coffee")) == []
        assert beside(text, menu.format(text)) == ["Coffee"]
        is_menu_anywhere = menu.startswith(("<nav", "<ul"))
        for within in ("article", "main"):
            html = f"<{within}>{menu.format('Coffee')}</{within}>"
            assert beside(text, html) == ([] if is_menu_anywhere else ["Coffee"])

    def test_a_header_with_the_headline_is_no_menu(self):
        html = "<header><div><h1>Lamp</h1></div> blue</header>"
        assert beside(f"{MAIN} blue", html) == ["blue"]
        assert beside(f"Lamp blue {MAIN}", html.replace("h1", "h2")) == []

    def test_a_menu_that_a_text_does_not_have_as_a_whole_hides_no_word_of_it(self):
        menus = "<nav>Towns: Leeds, <a>Derby</a></nav><nav>Hotels › <b>Derby</b></nav>"
        assert beside(f"Derby {MAIN}", menus) == ["Derby"]
        assert beside(f"Hotels › Derby {MAIN}", menus) == []
        assert beside(f"Towns: Leeds, Derby {MAIN} Leeds", menus) == []

    def test_what_takes_long_to_look_for_is_no_menu(self):
        text = f"{MAIN} {'tea ' * 50_000}"
        assert beside(text, f"<nav>tea{'<b>tea</b>' * 20_000}</nav>") != []

    @each("tag", ["script", "style", "noscript", "template"])
    def test_what_a_menu_does_not_show_counts(self, tag):
        assert beside(f"{MAIN} 9", f"<header><{tag}>9</{tag}><!-- 9 --></header>") == ["9"]

    def test_pieces_of_a_menu_are_a_word_together_but_no_number(self):
        menu = "<nav><b>C</b>offee<i>Maker</i> <a>1</a><a>2</a></nav>"
        assert beside(f"{MAIN} CoffeeMaker 2 12", menu) == ["12"]

    def test_menus_within_menus_are_read_once(self):
        assert _texts_of_menus(f"<nav>{'<nav>a' * 1000}") == [["a"]] * 1000 + [[]]

    def test_with_a_short_main_text_and_as_json_it_counts_as_it_is(self):
        short, longer = (MAIN[:size] for size in (LONG_TEXT, LONG_TEXT + 1))
        for text, main_text, is_whole in [
            (f"{short} again", short, True),
            (f"{longer} again", longer, False),
            (f"[{MAIN}]", MAIN, True),
            (f"{{{MAIN}}}", MAIN, True),
            (f"[PATCH] {MAIN}", MAIN, False),
            (f"({MAIN})", MAIN, False),
        ]:
            page = PageOfItem([URL], main_text=main_text)
            assert bool(said({"text": text}, page).wholes) != is_whole

    def test_it_is_asked_for_only_if_a_text_is_long(self):
        assert not has_long_text(values_of({"a": "x" * LONG_TEXT, "b": b"x" * 1000}))
        assert has_long_text(values_of({"a": ["", "x" * (LONG_TEXT + 1)]}))


class TestTitles:
    @staticmethod
    def of_title(folder, title, field="title"):
        evidence = Evidence(1, bytes(16), 1, digest_of_title(title))
        page = PageOfItem([f"http://a.example/en/{folder}/tea"], evidence=evidence)
        return contents({field: title, "version": folder}, page)

    @each(
        ("folder", "title", "told"),
        [
            ("v1.9.0", "Tea | Brew v1.9.0", "Tea | Brew"),
            ("V1.9.0", "Tea | Brew 1.9.0", "Tea | Brew"),
            ("v2.x", "Tea - Brew v2.x (brew)", "Tea - Brew (brew)"),
            ("v1.9.0", f"Of 32 characters | {'x' * 6} v1.9.0", f"Of 32 characters | {'x' * 6}"),
            *(
                (folder, title, title)
                for folder, title in [
                    ("v1.9.0", "Tea | Brew v1.9.1"),
                    ("v1.9.0", "Brew v1.9.0 | Tea"),
                    ("main", "Lamps | main hall"),
                    ("1.5", "Cable | 1.5"),
                    ("v8", "Manual | Model v8"),
                    ("v1.9.0", f"Tea | {'Brew ' * 80}v1.9.0"),
                ]
            ),
        ],
    )
    def test_the_version_that_the_url_names_says_nothing_in_the_title(self, folder, title, told):
        assert self.of_title(folder, title) == [("title", told), ("version", folder)]

    def test_a_headline_counts_and_so_does_a_title_with_other_words(self):
        evidence = Evidence(1, bytes(16), 1, digest_of_title("Tea | Print"), digest_of_name("Tea"))
        page = PageOfItem([URL], evidence=evidence)
        item = {"name": "Tea", "title": "Tea | Print"}
        assert contents(item, page) == sorted(item.items())


SEEN = {
    "views": 7,
    "offers": [{"seen": 1, "price": 5}, {"seen": 2, "price": {"net": 4}}],
    "viewsheet": "x",
}


class TestIgnoredFields:
    @each(
        ("ignored", "left"),
        [
            (["views"], {"offers.seen", "offers.price", "offers.price.net", "viewsheet"}),
            (["offers.seen"], {"views", "offers.price", "offers.price.net", "viewsheet"}),
            (["offers.price"], {"views", "offers.seen", "viewsheet"}),
            (["offers"], {"views", "viewsheet"}),
            (["offers.0.seen", "seen", "offer"], {name for _, name, _ in values_of(SEEN)}),
        ],
    )
    def test_say_nothing_nor_does_what_is_within_them(self, ignored, left):
        assert {name for name, _ in contents(SEEN, ignored=ignored)} == left


class TestWhatIsStored:
    def test_it_takes_8_bytes_a_value_and_is_read_again(self):
        stored = said(ITEM).to_bytes()
        assert len(stored) == 5 * SIZE_OF_VALUE
        assert keys_of(stored) == said(ITEM).keys
        assert stored == b"".join(sorted(keys_of(stored)))

    def test_more_values_than_are_told_apart_are_one(self):
        most, more = ({"a": list(range(count))} for count in (MOST_VALUES, MOST_VALUES + 1))
        assert len(said(most).to_bytes()) == MOST_VALUES * SIZE_OF_VALUE
        assert len(said(more).to_bytes()) == SIZE_OF_VALUE
        assert not says_all(more, most)
        assert not says_all({"a": more["a"][::-1]}, more)

    @pytest.mark.slow
    def test_it_is_the_same_in_every_process(self):
        script = (
            "from dedup.item_values import *\n"
            "item = {'set': {'a', 'b', 'c', 7}, 'frozen': frozenset('xyz'), 'b': b'ab',\n"
            "        'sets': [{'p', 'q'}, {'r', 's'}], 'pairs': {('a', 1), ('b', 2), ('c', 3)},\n"
            "        'text': 'abc ' * 200, 'many': set(map(str, range(200)))}\n"
            "page = PageOfItem(['http://a/'], [1.0], '<p>abc', main_text='abc ' * 200)\n"
            "print(page.what_says(values_of(item)).to_bytes().hex())"
        )
        [told] = outputs_by_seed(script)
        assert len(told) > 200 * 2 * SIZE_OF_VALUE
