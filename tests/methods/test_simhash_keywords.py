import random

import pytest
from cases import each

from dedup.lexicon import load_lexicon
from dedup.methods.simhash import SimHashKeywords, fingerprint, keywords
from dedup.text import Document

TEXTS = {
    "a street": (
        "镇上有十九家米粉店,没有一家做晚饭的生意。早上五点开门,卖到十点,锅一刷,门板一上,老板就去打牌了。"
        "外地人起得晚,往往只看见一排关着的门,以为这条街已经倒闭。其实这条街在天亮以前是最热闹的地方。"
        "老人们说,从前这里是一个码头,船工们在凌晨上岸,吃完一碗热汤的米粉就要出发,所以店家都起得很早。"
        "后来公路通了,码头没有了,船工也不在了,可是米粉店的这个习惯却被保留了下来,一直到今天也没有改变过。"
    ),
    "a library": (
        "图书馆的旧目录柜一共有四百八十个抽屉,里面的卡片是三代管理员用钢笔写成的。电脑来了以后,"
        "卡片没有人查了,馆长却不肯把目录柜卖掉。他说,电脑里只有书名和作者,卡片上还有管理员写的批注:"
        "哪一本书缺了页,哪一本书被谁借走以后三十年没有归还,哪一本书的作者其实是借书人的父亲。"
        "去年夏天,一位从海外回来的学者在抽屉里找到了他祖母的笔迹,在目录柜前面站了一个下午。"
    ),
    "a river": (
        "水文站建在河湾的石崖上,每天早上八点,观测员要走下一百二十级台阶去看水尺。洪水来的时候,"
        "每个小时都要看一次,夜里也不例外。水位记录从民国二十六年开始,中间只断过十一天,那是大桥被炸的时候。"
        "现在仪器可以自动记录水位,通过卫星传到省城,可是观测员仍然每天下去看一次水尺,因为仪器会出错,"
        "而洪水不会等人去修仪器。他的记录本和仪器的数据,每个月要对照一次,差别通常不超过两厘米。"
    ),
}


def document_of(words):
    """A document of those tokens, which need not be what its text is cut into."""
    document = Document(" ".join(words))
    document.__dict__["tokens"] = list(words)
    return document


# jieba leaves its file open.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("text", [*TEXTS.values(), "".join(TEXTS.values())])
def test_keywords_are_those_of_jieba(text):
    from jieba.analyse import extract_tags

    tags = dict(extract_tags(text, topK=None, withWeight=True))
    found = keywords(Document.from_main_text(text).tokens, 20, "jieba")
    assert len(found) == 20
    assert dict(found) == pytest.approx({word: tags[word] for word, _ in found}, abs=1e-9)
    # Up to ties: none that is left out weighs more.
    assert [weight for _, weight in found] == pytest.approx(sorted(tags.values())[:-21:-1])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_stop_words_are_those_of_jieba():
    from jieba.analyse.tfidf import TFIDF

    for word in TFIDF.STOP_WORDS:
        assert keywords([word, "ferry"], 20, "jieba") == keywords(["ferry"], 20, "jieba")
    assert len(keywords(["how", "was", "ferry"], 20, "jieba")) == 3


def test_ties_are_ordered_by_the_word_descending():
    words = [f"word{i:02}" for i in range(25)]
    found = keywords(random.Random(1).sample(words, 25), 20, "jieba")
    assert [word for word, _ in found] == words[:4:-1]
    assert len({weight for _, weight in found}) == 1


def test_a_weight_is_the_share_of_the_kept_words_times_the_idf():
    idf = load_lexicon("jieba").idf
    found = dict(keywords("北京 北京 码头 the 的 qqx".split(), 20, "jieba"))
    expected = {"北京": idf("北京") / 2, "码头": idf("码头") / 4, "qqx": 11.9547675029 / 4}
    assert found == pytest.approx(expected, abs=1e-9)
    assert all((weight * 2**32).is_integer() for weight in found.values())


def test_only_the_heaviest_words_count():
    words = ["北京"] * 9 + ["码头"] * 5
    assert SimHashKeywords(top=1).sketch(document_of(words)) == fingerprint({"北京": 1.0})
    assert SimHashKeywords(top=2).sketch(document_of(words)) == SimHashKeywords().sketch(
        document_of(words)
    )


def test_integer_weights_are_cut_to_twentieths():
    document = Document.from_main_text(TEXTS["a street"])
    weights = {word: int(w * 20) for word, w in keywords(document.tokens, 20, "jieba")}
    assert len(set(weights.values())) > 3
    assert SimHashKeywords(integer=True).sketch(document) == fingerprint(weights)


@each("text", ["", "的 是 了", "a b c 1 2", "the of and which"])
def test_a_text_without_keywords_has_no_sketch(text):
    assert SimHashKeywords().sketch(Document(text)) is None
