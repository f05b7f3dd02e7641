-- What is known of requests that need not be sent: a ledger has these tables once they are asked for.
-- Pages that gave items at their last visit, and led to no further request.
CREATE TABLE IF NOT EXISTS leaves (
    request BLOB PRIMARY KEY,  -- what stands for the request, 16 bytes
    visited REAL NOT NULL,
    etag TEXT,                 -- the validators of the response, NULL where it had none
    modified TEXT
) WITHOUT ROWID;
-- Parts of URLs that change nothing, and (kind 'not-modified') hosts with a 304 that was wrong.
CREATE TABLE IF NOT EXISTS url_rules (
    kind TEXT NOT NULL,
    host TEXT NOT NULL,
    name TEXT NOT NULL,
    agreed INTEGER NOT NULL,   -- comparisons without a counterexample
    spared INTEGER NOT NULL,   -- requests that were not sent for it
    tests INTEGER NOT NULL,    -- requests that were, to test it
    broken INTEGER NOT NULL,   -- 1 after a counterexample
    PRIMARY KEY (kind, host, name)
) WITHOUT ROWID;
