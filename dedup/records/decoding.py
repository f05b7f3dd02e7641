"""Bytes of HTML -> characters."""


def decode_html(body: bytes, content_type: str | None = None) -> str:
    """Decode HTML as a browser does.

    The byte order mark decides, then the header, then the page's own declaration, then a guess.
    Never fails: invalid bytes become U+FFFD.
    """
    from w3lib.encoding import html_to_unicode

    def guess(data: bytes) -> str:
        try:
            data.decode()
        except UnicodeDecodeError:
            return "cp1252"
        return "utf-8"

    return html_to_unicode(content_type, body, auto_detect_fun=guess)[1]
