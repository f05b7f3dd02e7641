-- The ledger of a scan.

-- As JSON: 'identity' is what the records depend on, 'whole' whether they are all.
CREATE TABLE about (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
-- What was read of each record: see dedup.scan.reader.ReadRecord. They are numbered 0, 1, 2, ...
-- over all inputs.
CREATE TABLE records (
    number INTEGER PRIMARY KEY,
    key BLOB,                 -- UTF-8
    date REAL,                -- seconds since 1970-01-01 UTC
    has_field INTEGER NOT NULL,
    length INTEGER NOT NULL,  -- characters of main text
    tokens INTEGER NOT NULL,  -- words of it
    digest BLOB,              -- BLAKE2b of the normalised text; NULL without text
    sketch BLOB,              -- NULL for a text with too little content
    evidence BLOB,            -- what a page of HTML shows besides; NULL without HTML
    sequences BLOB,           -- of three words: see dedup.lost_text.Sequences; NULL without text
    error TEXT,               -- why the record is a bad one
    unread TEXT,              -- why its text or scope could not be found out
    scope TEXT,               -- where it is compared; NULL if that is not known
    canonical BLOB            -- the URL that the page names so, in UTF-8; NULL if that is not known
);
