"""Texts for tests: different contents, and pages around them."""

import random
from functools import cache

ENGLISH = """\
The ferry across the Wend has carried cattle, brides and one grand piano. The ferryman says that
the piano was the quietest of them, and that the brides were not. His boat is older than the
bridge at Harrow, which fell in the flood of the spring that the old people still talk about.
On Mondays it does not run. The reason is not known to the passengers, who have been waiting on
the landing stage since the early morning with their baskets, and are told nothing by anyone.
A timetable was printed in a year when paper was cheap; it has since been used to wrap the fish.
Nobody can say how many people the boat is allowed to carry, because the plate was painted over.
"""
CHINESE = """\
镇上有十九家米粉店，没有一家做晚饭的生意。早上五点开门，卖到十点，锅一刷，门板一上，老板就去打牌了。
外地人起得晚，往往只看见一排关着的门，以为这条街已经倒闭。其实这条街在天亮以前是最热闹的地方。
老人们说，从前这里是一个码头，船工们在凌晨上岸，吃完一碗热汤的米粉就要出发，所以店家都起得很早。
后来公路通了，码头没有了，船工也不在了，可是这个习惯却被保留了下来，一直到今天也没有改变过。
"""
# What OpenCC makes of it ("s2t").
TRADITIONAL_CHINESE = """\
鎮上有十九家米粉店，沒有一家做晚飯的生意。早上五點開門，賣到十點，鍋一刷，門板一上，老闆就去打牌了。
外地人起得晚，往往只看見一排關着的門，以爲這條街已經倒閉。其實這條街在天亮以前是最熱鬧的地方。
老人們說，從前這裏是一個碼頭，船工們在凌晨上岸，喫完一碗熱湯的米粉就要出發，所以店家都起得很早。
後來公路通了，碼頭沒有了，船工也不在了，可是這個習慣卻被保留了下來，一直到今天也沒有改變過。
"""
NEWS = (
    "3月14日,青溪镇的老石桥在修缮七个月之后重新开放。工匠们把每一块石头编了号,拆下来,"
    "又按原来的样子砌回去。镇长李国平说,这座桥建于明朝万历年间,四百多年来只断过两次。"
    "北京大学考古文博学院的三位研究生参加了测绘,他们在桥墩下面发现了一枚铜钱。"
)
COOKING = (
    "好米粉用的是陈米。新米黏,做出来糊汤;放过一年的早稻米,涨性足,骨头硬。"
    "米先泡一夜,泡到用手指一捻就碎,再用石磨带水磨成浆。"
)
SCIENCE = (
    "研究人员利用机器学习算法分析了两千万条微博数据,结果表明人工智能模型的准确率比"
    "传统方法高出百分之十五。中华人民共和国国家标准对此没有规定。"
)
PARAGRAPHS = [
    "The old stone bridge over the Wend opened again on Saturday, seven months after the masons "
    "began to number its blocks and carry them, one by one, to the meadow on the left bank.",
    "Every stone went back to where it had lain, except for eleven that frost had split. For these "
    "the quarry at Harrow Edge was opened for a single week, the first time since the war.",
    "The mayor cut no ribbon. She walked across with the oldest and the youngest citizen of the "
    "town, and the brass band followed with a march that nobody had rehearsed.",
]
_WORDS = (
    "river bridge market station harvest council weather library orchard engine window teacher "
    "winter garden lantern postman bakery railway concert doctor village summer mountain painter "
    "kitchen journey meadow captain blanket history letter morning machine holiday forest island"
).split()


@cache
def article(number: int, words: int = 200) -> str:
    """Return an English-looking text of *words* words; another *number* gives another content."""
    chooser = random.Random(number)
    own = [f"{word}{chooser.randrange(1000)}" for word in chooser.sample(_WORDS, 20)]
    text = [chooser.choice(own + _WORDS) for _ in range(words)]
    sentences = [" ".join(text[i : i + 12]).capitalize() + "." for i in range(0, words, 12)]
    return " ".join(sentences)


def edited(text: str, word: str = "otherwise") -> str:
    """Return *text* with three words replaced: for article(1), a copy at distance 2."""
    words = text.split()
    for quarter in (1, 2, 3):
        words[quarter * len(words) // 4] = word
    return " ".join(words)


def replaced(text: str, count: int) -> str:
    """Return *text* with *count* of its words replaced, at equal distances."""
    words = text.split()
    for number in range(count):
        words[number * len(words) // count] = f"replaced{number}"
    return " ".join(words)


def page(text: str, *links: str, title: str = "A page", footer: str = "Footer") -> str:
    """Return an HTML page with *text* as main text, and *links* in its navigation."""
    navigation = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    half = len(text) // 2
    return (
        f'<!doctype html><html lang="en"><head><title>{title}</title></head><body>'
        f"<nav><ul>{navigation}</ul></nav><main><article><h1>{title}</h1>"
        f"<p>{text[:half]}</p><p>{text[half:]}</p></article></main>"
        f"<footer>{footer}</footer></body></html>"
    )
