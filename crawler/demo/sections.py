"""A shop and a manual in two versions, for the tutorial. The magazine does not link to them."""

from crawler.demo.layout import fill

DESK = (
    "An arm of brass and a shade of green glass. The switch is in the foot, the cable is two "
    "metres long, and the bulb is included. It stands firmly, even on a narrow shelf or a "
    "window sill."
)
READING = (
    "A soft light for long evenings, with a shade of linen and a stand of oak. The stand is "
    "oiled by hand in our own workshop, and the shade can be washed. Please order bulbs "
    "separately."
)
FLOOR = (
    "Three legs of ash, a shade of felt, and a foot switch that can be found in the dark. It "
    "comes in four parts, which go together without tools, and it fits into the boot of a "
    "small car."
)
INSTALL = (
    "Download the archive for your system and unpack it into an empty folder. Start the "
    "program once without arguments: it writes a configuration beside itself and ends.",
    "Open the configuration in an editor and enter the harbour that is nearest to you. The "
    "program asks for the tides of that harbour at the next start, which takes a minute.",
)
ALARM = (
    "An alarm rings before high water. Set the time in minutes with the option lead, and "
    "choose one of the four bells that come with the program.",
    "An alarm rings once for each tide. Set the option lead to zero and no alarm rings, not "
    "even the one that was set for this evening. The bell of the harbour master cannot be "
    "changed.",
)
ALARM_AGAIN = (ALARM[0], ALARM[1].replace("once", "twice"))
SHARE = (
    "Two boats can share their alarms. Each of them enters the name of the other one under "
    "friends. From the next tide on, both hear what either of them has set.",
)
MANUAL: dict[str, dict[str, tuple[str, ...]]] = {
    "1.0": {"install": INSTALL, "alarm": ALARM},
    "2.0": {"install": INSTALL, "alarm": ALARM_AGAIN, "share": SHARE},
}


def sections(edition: int = 1) -> dict[str, str]:
    """Return the HTML of the shop and of the manual by path; in edition 2, a lamp is cheaper."""
    return _shop(edition) | _manual()


def _shop(edition: int) -> dict[str, str]:
    lamps = {
        "desk": ("Desk lamp", "39 EUR", DESK),
        "desk?from=offers": ("Desk lamp", "39 EUR", DESK),
        "reading-small": ("Reading lamp, small", "65 EUR", READING),
        "reading-large": ("Reading lamp, large", "85 EUR", READING),
        "floor": ("Floor lamp", "99 EUR" if edition == 2 else "120 EUR", FLOOR),
    }
    links = "\n".join(
        f'<li><a class="lamp" href="/shop/{path}">{name}</a></li>'
        for path, (name, _, _) in lamps.items()
    )
    return {"/shop/": fill("lamps", links=links)} | {
        f"/shop/{path}": fill("lamp", name=name, price=price, text=text)
        for path, (name, price, text) in lamps.items()
    }


def _manual() -> dict[str, str]:
    links = " ".join(
        f'<a href="/manual/{version}/{name}">{name} {version}</a>'
        for version, pages in MANUAL.items()
        for name in pages
    )
    return {
        f"/manual/{version}/{name}": fill(
            "manual",
            title=name.capitalize(),
            version=version,
            links=links,
            text="\n".join(f"<p>{paragraph}</p>" for paragraph in paragraphs),
        )
        for version, pages in MANUAL.items()
        for name, paragraphs in pages.items()
    }
