"""Labelled collections, written to disk."""

import json

WORDS = " ".join(f"word{number}" for number in range(60))
PAGES = {
    "a": WORDS,
    "again": WORDS.upper(),
    "edited": WORDS.replace("word30", "changed"),
    "other": " ".join(f"another{number}" for number in range(60)),
    "short": "three short words",
}
LABELS = [("a", "again", "dup"), ("edited", "a", "dup"), ("again", "edited", "dup")]


def write(folder, pages=PAGES, labels=LABELS, **fields):
    folder.mkdir(exist_ok=True)
    lines = [json.dumps({"id": key, "text": text, **fields}) for key, text in pages.items()]
    (folder / "docs.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    rows = ["\t".join(row) for row in [("id1", "id2", "label"), *labels]]
    (folder / "pairs.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    return folder
