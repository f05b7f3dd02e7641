"""URLs and which of them have equal content -> what in URLs never changed it."""

from dedup.url_advice.advice import Advice, Followed, UrlAdvice
from dedup.url_advice.advising import url_advice
from dedup.url_advice.contents import Content, Contents
from dedup.url_advice.urls import is_version

__all__ = ["Advice", "Content", "Contents", "Followed", "UrlAdvice", "is_version", "url_advice"]
