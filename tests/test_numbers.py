from cases import each

from dedup.numbers import numbers_in


@each(
    ("text", "numbers"),
    [
        ("Price: 1,250.50 EUR, 7% off, 5mg; again 7", "1,250.50EUR 5mg 7 7%"),
        ("1.250.000 people, 12.000,75 for 2024", "1.250.000 12.000,75for 2024"),
        ("from 2026-05-12 to 13/05/2026 at 9:30", "2026-05-12to 13/05/2026at 9:30"),
        ("3:1, 2–0 or 5-7; 2026-05-12T10:30", "3:1 2–0or 5-7 2026-05-12T10:30"),
        (
            "12 000 EUR, 12\u202f000\u00a0000, 1’500 CHF; 2 5000",
            "12000EUR 12000000 1’500CHF 2 5000",
        ),
        ("V1.9, v0.1a3 500 and v2.0.1, but version 3 of the V8 and", "500and 3of 8"),
        ("12.03.2026, 1.12.26, § 1.2.3, 0.9.1rc2", "12.03.2026 1.12.26 1.2.3 0.9.1rc2"),
        ("5  EUR, 7\n kg, 9\u202f%, 3\n\nrooms", "5EUR 7kg 9% 3"),  # blanks do not count
        ("10² Pa, -5 °C or 5 - 7, ½, 1½, ⅔.", "10²Pa -5°C 5 7 ½ 1½ ⅔"),
        ("5 mW, 5MW and 61 m²: $5, €5, 5 € + 5.", "5MW 5mW 61m² $5 €5 5€ 5"),
        ("5 mg/ml, 5 km / h, 5 mg/tablet", "5mg/ml 5km 5mg"),
        (
            "版本v1.4.0，共25个，١٢，五日，第三十五条，一些，一个，售价5克",
            "25个 ١٢ 五日 三十五条 5克",
        ),
        ("一个月、六个月，十一人。二, 三人", "六个 十一人 二 三人"),
        ("(€500) or a £5-note, -5 or (−5)", "€500 £5 -5or 5"),
        ("1920x1080 on 3f9c2 and tv5.", "1920x1080on 3f9c2and 5"),
        ("", ""),
    ],
)
def test_numbers_are_found_in_any_script_but_versions_are_none(text, numbers):
    assert " ".join(numbers_in(text)) == " ".join(sorted(numbers.split()))


def test_many_numbers_are_one_that_is_another_if_any_is():
    many = [str(number) for number in range(100, 201)]
    assert len(numbers_in("; ".join(many[1:]))) == 100
    [all_of_them] = numbers_in("; ".join(many))
    assert all_of_them.startswith("101 numbers")
    assert numbers_in("; ".join(reversed(many))) == (all_of_them,)
    assert numbers_in("; ".join([*many[1:], "300"])) != (all_of_them,)


def test_a_number_as_long_as_its_text_is_not_kept():
    longest = "1" * 400
    assert numbers_in(longest) == (longest,)
    [number] = numbers_in(f"{longest}2")
    assert number.startswith("1 numbers")
    assert numbers_in(f"{longest}3") != (number,)
