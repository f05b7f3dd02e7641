"""The smallest valid PDF, for a link that leads to no web page."""

from __future__ import annotations


def one_page(lines: list[str]) -> bytes:
    """Return a PDF of one page with *lines* of ASCII text without parentheses."""
    text = " ".join(f"({line}) Tj T*" for line in lines)
    stream = f"BT /F1 14 Tf 72 760 Td 20 TL {text} ET"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
        "/Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    document = "%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(document))
        document += f"{number} 0 obj\n{body}\nendobj\n"
    rows = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    count = len(objects) + 1
    document += f"xref\n0 {count}\n0000000000 65535 f \n{rows}"
    start = document.rindex("xref\n0 ")
    document += f"trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    return document.encode("ascii")
