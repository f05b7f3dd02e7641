-- The ledger of scrapy-dedup. docs/revisits.md says what can be asked of it.
-- All times are seconds since 1970-01-01 UTC.

-- What the file is for, as JSON: 'identity' is what the stored sketches depend on.
CREATE TABLE about (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

-- The crawls that used this file: a row for each process. A crawl that is resumed (JOBDIR) keeps
-- its row, unless it shares the file then.
CREATE TABLE crawls (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,     -- equal for processes that shared the file, and for those of a job
    -- Pages of the run with ids up to this one were there when it began, or its job that goes on:
    -- processes that shared the file before had stored them, or were about to.
    position INTEGER NOT NULL,
    spider TEXT NOT NULL,
    job TEXT,                 -- what dedup.job in its JOBDIR says, if it has one
    started REAL NOT NULL,
    finished REAL,            -- NULL while it runs, and if it was killed
    reason TEXT,              -- why it was closed: 'finished', 'shutdown', ...
    report TEXT               -- the JSON report
);

CREATE INDEX crawls_by_run ON crawls (run);

-- The pages that were stored. Those that are compared with new ones have no value in ended.
CREATE TABLE pages (
    id INTEGER PRIMARY KEY,
    crawl INTEGER NOT NULL REFERENCES crawls (id),
    tokens INTEGER NOT NULL,  -- the number of words of the main text
    digest BLOB NOT NULL,     -- BLAKE2b of 16 bytes of the normalised main text
    sketch BLOB,              -- NULL for a text with too little content
    evidence BLOB,            -- what the page shows besides its main text; NULL if nobody saw it
    items BLOB NOT NULL,      -- what each of its items says: a number of values (2 bytes), 8 bytes each
    scope TEXT NOT NULL,      -- pages of the same scope are compared (DEDUP_SCOPE)
    ended REAL,               -- when it was replaced by its changed self, or had expired
    replaced_by INTEGER REFERENCES pages (id),
    stored REAL NOT NULL,
    seen REAL NOT NULL,       -- when it was last met with this text
    url TEXT NOT NULL
);
CREATE INDEX pages_by_url ON pages (url);

-- Pages that were not stored, since they repeat one that is; and pages that were although they do.
CREATE TABLE matches (
    crawl INTEGER NOT NULL REFERENCES crawls (id),
    page INTEGER NOT NULL REFERENCES pages (id),
    -- 'exact-duplicate' or 'near-duplicate'; 'other item: ' and names of fields if it was stored,
    -- since no stored item says the same there
    kind TEXT NOT NULL,
    distance REAL NOT NULL,   -- of the sketches, 0 for an exact duplicate
    found REAL NOT NULL,      -- when it was last
    url TEXT NOT NULL,
    UNIQUE (page, url)
);

-- The main texts of some pages, to show what differs.
CREATE TABLE texts (
    url TEXT PRIMARY KEY,
    title TEXT,
    text BLOB NOT NULL        -- UTF-8, zlib
);

-- The processes that share the file, or did.
CREATE TABLE owners (
    owner BLOB PRIMARY KEY,   -- 8 random bytes
    crawl INTEGER REFERENCES crawls (id),  -- NULL if that is forgotten
    lease REAL NOT NULL,      -- when its claims lapse, unless it says something before
    turn INTEGER NOT NULL,    -- the number of what it said last
    seen INTEGER NOT NULL     -- the last of the events that it knows
) WITHOUT ROWID;

-- The pages that processes that share the file are about to store; id is that of the event, and
-- will be that of the page.
CREATE TABLE claims (
    id INTEGER PRIMARY KEY,
    owner BLOB NOT NULL,
    serial INTEGER NOT NULL,  -- the owner's count of claims
    entry BLOB NOT NULL       -- as in events
);

-- What processes that share the file have done lately, in order, without a gap: dedup/stores/
-- entries.py says how. An event has a higher id than all earlier events and pages.
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    entry BLOB NOT NULL
);

-- Which pages are duplicates of which, of those that count.
CREATE VIEW duplicates AS
    SELECT pages.url AS original, matches.url AS duplicate, kind, distance, matches.crawl,
           datetime(found, 'unixepoch') AS found
    FROM matches JOIN pages ON pages.id = matches.page
    WHERE matches.url <> pages.url AND ended IS NULL AND kind LIKE '%-duplicate';
