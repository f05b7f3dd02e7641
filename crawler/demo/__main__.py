"""``python -m crawler.demo``: serve the demonstration until Ctrl-C, for crawls of your own."""

import argparse
from threading import Event

from crawler.demo.server import DemoServer


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m crawler.demo", description=__doc__)
    parser.add_argument(
        "--edition", type=int, choices=(1, 2), default=1, help="2: the magazine some days later"
    )
    with DemoServer(parser.parse_args().edition) as server:
        try:
            print(
                f"Serving {server.url} and its mirror {server.mirror_url} until Ctrl-C", flush=True
            )
            Event().wait()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    main()
