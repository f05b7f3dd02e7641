"""A town magazine served on loopback, for a crawl that needs no network."""
