"""URLs and their contents -> the parts of URLs that never changed the content."""

from dedup.url_advice.advice import Advice, UrlAdvice, url_advice
from dedup.url_advice.contents import Content, Contents

__all__ = ["Advice", "Content", "Contents", "UrlAdvice", "url_advice"]
