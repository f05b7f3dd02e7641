"""Requests that need not be sent (DEDUP_REVISITS, DEDUP_SKIP_URLS)."""
