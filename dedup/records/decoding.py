"""Bytes of HTML -> characters."""


def decoded_html(body: bytes, content_type: str | None = None) -> str:
    """Return HTML as a browser decodes it: by its mark, the header, what it declares, or a guess.

    Never fails: what is no character becomes U+FFFD.
    """
    from w3lib.encoding import html_to_unicode

    def guessed(data: bytes) -> str:
        try:
            data.decode()
        except UnicodeDecodeError:
            return "cp1252"
        return "utf-8"

    return html_to_unicode(content_type, body, auto_detect_fun=guessed)[1]
