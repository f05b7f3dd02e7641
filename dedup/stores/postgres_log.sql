-- The logs that fleets share, in the schema "dedup". All times are seconds since 1970-01-01 UTC.
-- Words from outside are bytes: UTF-8, with NUL and halves of characters, which a text cannot have.

CREATE TABLE dedup.about (format integer NOT NULL);

-- Every step begins with an update or a lock of the row of its log. So positions are given, and
-- become visible, in their order, and no two steps wait for each other.
CREATE TABLE dedup.logs (
    namespace text PRIMARY KEY,
    id integer GENERATED ALWAYS AS IDENTITY,
    last bigint NOT NULL DEFAULT 0,     -- the position of the last entry
    runs integer NOT NULL DEFAULT 0,
    signature bytea NOT NULL,           -- a digest of the identity
    identity text NOT NULL              -- JSON: what the sketches depend on
) WITH (fillfactor = 20);

-- Logs that were reset, whose rows are yet to be deleted.
CREATE TABLE dedup.forgotten (log integer PRIMARY KEY);

CREATE TABLE dedup.entries (
    position bigint,
    log integer,
    -- entries.py has its form: after a byte for the kind, little-endian, serial (4 bytes), run (4),
    -- owner (8), time (8) and number (8).
    entry bytea NOT NULL,
    PRIMARY KEY (log, position)
);

-- The claims that are neither committed nor released.
CREATE TABLE dedup.claims (
    number bigint,
    log integer,
    claim bytea NOT NULL,               -- serial, run and owner, as in its entry
    PRIMARY KEY (log, number)
);

CREATE TABLE dedup.members (
    turn bigint NOT NULL,               -- of the last request
    lease double precision NOT NULL,    -- when it ends
    log integer,
    owner bytea,
    PRIMARY KEY (log, owner)
) WITH (fillfactor = 20);

CREATE TABLE dedup.crawls (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    log integer NOT NULL,
    owner bytea NOT NULL,
    run integer NOT NULL,
    position bigint NOT NULL,           -- of the last entry when it began, or its job that goes on
    spider bytea NOT NULL,
    job bytea,
    started double precision NOT NULL,
    finished double precision,
    reason bytea,
    report bytea,                       -- JSON
    UNIQUE (log, owner)
);

CREATE TABLE dedup.matches (
    number bigint,                      -- of the page that is repeated
    distance double precision NOT NULL,
    at double precision NOT NULL,
    log integer,
    run integer NOT NULL,
    digest bytea,                       -- of the key, which may be too long for an index
    key bytea NOT NULL,
    kind bytea NOT NULL,
    PRIMARY KEY (log, number, digest)
);

-- Arguments and variables begin with an underscore, columns do not.

-- Eight bytes in the order of an entry.
CREATE FUNCTION dedup.reversed(_bytes bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT substring(_bytes FROM 8 FOR 1) || substring(_bytes FROM 7 FOR 1)
        || substring(_bytes FROM 6 FOR 1) || substring(_bytes FROM 5 FOR 1)
        || substring(_bytes FROM 4 FOR 1) || substring(_bytes FROM 3 FOR 1)
        || substring(_bytes FROM 2 FOR 1) || substring(_bytes FROM 1 FOR 1)
$$;

-- What need not be durable costs the server a fraction. But a commit must be, and with it is all
-- that anybody has seen before.
CREATE FUNCTION dedup.be_durable() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
END
$$;

CREATE FUNCTION dedup.refuse_stranger() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'what was there is gone, or others have begun anew with other settings'
    USING ERRCODE = 'DD001';
END
$$;

-- Have a log for this transaction alone. A signature of NULL is any.
CREATE FUNCTION dedup.lock_log(
    _namespace text, _signature bytea,
    OUT _log integer, OUT _last bigint, OUT _now double precision
) LANGUAGE plpgsql AS $$
BEGIN
    SELECT id, last INTO _log, _last FROM dedup.logs
    WHERE namespace = _namespace AND signature = coalesce(_signature, signature)
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        PERFORM dedup.refuse_stranger();
    END IF;
    _now := date_part('epoch', clock_timestamp());
END
$$;

-- End those of some claims that are open, with an entry of a kind ('S' or 'R') for each. A claim is
-- named by its serial and its owner. Returns the position of the last entry, and which of the
-- claims those were.
CREATE FUNCTION dedup.end_claims(
    _log integer, INOUT _last bigint, _now double precision, _kind bytea,
    _numbers bigint[], _names bytea[], OUT _places bigint[],
    _tails bytea[] DEFAULT '{}'     -- what is behind the heads of the entries
) LANGUAGE plpgsql AS $$
DECLARE
    _time bytea := dedup.reversed(float8send(_now));
    _number bigint;
    _name bytea;
    _place bigint;
    _claim bytea;
BEGIN
    -- One by one: a join would be planned for as many claims as were open at the first time.
    FOR _number, _name, _place IN SELECT * FROM unnest(_numbers, _names) WITH ORDINALITY LOOP
        DELETE FROM dedup.claims
        WHERE log = _log AND number = _number
            AND substring(claim FOR 4) || substring(claim FROM 9) = _name
        RETURNING claim INTO _claim;
        IF FOUND THEN
            _last := _last + 1;
            _places := array_append(_places, _place);
            INSERT INTO dedup.entries (log, position, entry)
            VALUES (
                _log, _last, _kind || _claim || _time || dedup.reversed(int8send(_number))
                    || coalesce(_tails[_place], '')
            );
        END IF;
    END LOOP;
END
$$;

CREATE FUNCTION dedup.exchange(
    _namespace text, _signature bytea, _owner bytea, _turn bigint, _run integer, _seen bigint,
    _lease double precision, _most integer,
    _commits bigint[], _commit_names bytea[], _commit_tails bytea[], _releases bigint[], _release_names bytea[],
    _entries bytea[],               -- claims, without their time
    _match_numbers bigint[], _match_keys bytea[], _match_kinds bytea[],
    _match_distances double precision[], _match_times double precision[],
    OUT _last bigint,
    OUT _ended bigint[],            -- which of the commits, from 1
    OUT _answer bytea[]
) LANGUAGE plpgsql AS $$
DECLARE
    _log integer;
    _now double precision;
    _first bigint := greatest(_seen, 1);
    _start bigint;
    _entry bytea;
    _time bytea;
BEGIN
    IF cardinality(_commits) > 0 THEN
        PERFORM dedup.be_durable();
    ELSE
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
    UPDATE dedup.logs SET last = last + cardinality(_entries)
    WHERE namespace = _namespace AND signature = coalesce(_signature, signature)
    RETURNING id, last - cardinality(_entries) INTO _log, _start;
    IF NOT FOUND THEN
        PERFORM dedup.refuse_stranger();
    END IF;
    _now := date_part('epoch', clock_timestamp());
    _last := _start;
    UPDATE dedup.members SET turn = _turn, lease = _now + _lease
    WHERE log = _log AND owner = _owner AND turn < _turn;
    IF NOT FOUND THEN
        -- Where a server has gone back to an earlier state, the process may be missing.
        INSERT INTO dedup.members (log, owner, turn, lease)
        VALUES (_log, _owner, _turn, _now + _lease) ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'a request has come after a later one of its process'
            USING ERRCODE = 'DD001';
        END IF;
    END IF;

    IF cardinality(_commits) > 0 THEN
        SELECT * INTO _last, _ended
        FROM dedup.end_claims(_log, _last, _now, 'S', _commits, _commit_names, _commit_tails);
    END IF;
    IF cardinality(_releases) > 0 THEN
        SELECT _ends._last INTO _last
        FROM dedup.end_claims(_log, _last, _now, 'R', _releases, _release_names) AS _ends;
    END IF;
    IF _last <> _start THEN
        UPDATE dedup.logs SET last = _last + cardinality(_entries) WHERE namespace = _namespace;
    END IF;
    _time := dedup.reversed(float8send(_now));
    FOREACH _entry IN ARRAY _entries LOOP
        _last := _last + 1;
        INSERT INTO dedup.entries (log, position, entry)
        VALUES (_log, _last, overlay(_entry PLACING _time FROM 18));
        IF get_byte(_entry, 0) = ascii('C') THEN
            INSERT INTO dedup.claims (log, number, claim)
            VALUES (_log, _last, substring(_entry FROM 2 FOR 16));
        END IF;
    END LOOP;

    IF cardinality(_match_numbers) > 0 THEN
        INSERT INTO dedup.matches (log, run, number, digest, key, kind, distance, at)
        SELECT DISTINCT ON (number, key)
            _log, _run, number, substring(sha256(key) FOR 16), key, kind,
            distance, at
        FROM unnest(_match_numbers, _match_keys, _match_kinds, _match_distances, _match_times)
            WITH ORDINALITY AS told (number, key, kind, distance, at, place)
        ORDER BY number, key, place DESC
        ON CONFLICT (log, number, digest) DO UPDATE SET
            run = excluded.run, kind = excluded.kind, distance = excluded.distance,
            at = excluded.at;
    END IF;

    _answer := ARRAY(
        SELECT entry FROM dedup.entries
        WHERE log = _log AND position >= _first AND position < _first + _most
        ORDER BY position
    );
END
$$;

CREATE FUNCTION dedup.expire(
    _namespace text, _signature bytea, _numbers bigint[], _names bytea[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    _log integer;
    _last bigint;
    _now double precision;
    _dead bigint[];
    _dead_names bytea[];
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT * INTO _log, _last, _now FROM dedup.lock_log(_namespace, _signature);
    SELECT array_agg(number ORDER BY number), array_agg(name ORDER BY number)
    INTO _dead, _dead_names
    FROM unnest(_numbers, _names) AS given (number, name)
    WHERE NOT EXISTS (
        SELECT FROM dedup.members
        WHERE log = _log AND owner = substring(name FROM 5) AND lease > _now
    );
    SELECT _ends._last INTO _last
    FROM dedup.end_claims(_log, _last, _now, 'R', _dead, _dead_names) AS _ends;
    UPDATE dedup.logs SET last = _last WHERE namespace = _namespace AND last <> _last;
END
$$;

CREATE FUNCTION dedup.join(
    _namespace text, _signature bytea, _identity text, _owner bytea, _spider bytea, _job bytea,
    _lease double precision, _reset boolean,
    OUT _run integer, OUT _is_resumed boolean, OUT _is_reset boolean, OUT _position bigint,
    OUT _other_identity text        -- if there is one; nothing is changed then
) LANGUAGE plpgsql AS $$
DECLARE
    _log integer;
    _last bigint;
    _now double precision;
    _run_of_job integer;
    _run_of_others integer;
BEGIN
    PERFORM dedup.be_durable();
    INSERT INTO dedup.logs (namespace, signature, identity)
    VALUES (_namespace, _signature, _identity) ON CONFLICT DO NOTHING;
    SELECT * INTO _log, _last, _now FROM dedup.lock_log(_namespace, NULL);
    SELECT run, position INTO _run_of_job, _position
    FROM (
        SELECT run, position, reason FROM dedup.crawls
        WHERE log = _log AND job = _job ORDER BY id DESC LIMIT 1
    ) AS of_job
    WHERE reason IS DISTINCT FROM 'finished'::bytea;
    SELECT run INTO _run_of_others
    FROM dedup.crawls JOIN dedup.members USING (log, owner)
    WHERE log = _log AND lease > _now ORDER BY id DESC LIMIT 1;
    _is_resumed := _run_of_job IS NOT NULL;
    _is_reset := _reset AND NOT _is_resumed AND NOT EXISTS (
        SELECT FROM dedup.members WHERE log = _log AND lease > _now
    );
    IF _is_reset THEN
        INSERT INTO dedup.forgotten VALUES (_log);
        UPDATE dedup.logs
        SET id = DEFAULT, last = 0, runs = 0, signature = _signature, identity = _identity
        WHERE namespace = _namespace RETURNING id, last INTO _log, _last;
    ELSE
        SELECT identity INTO _other_identity FROM dedup.logs
        WHERE namespace = _namespace AND signature <> _signature;
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;
    _run := coalesce(_run_of_job, _run_of_others);
    _position := coalesce(_position, _last);
    IF _run IS NULL THEN
        UPDATE dedup.logs SET runs = runs + 1 WHERE namespace = _namespace RETURNING runs INTO _run;
    END IF;
    INSERT INTO dedup.crawls (log, owner, run, position, spider, job, started)
    VALUES (_log, _owner, _run, _position, _spider, _job, _now)
    ON CONFLICT (log, owner) DO UPDATE SET
        run = excluded.run, position = excluded.position, spider = excluded.spider,
        job = excluded.job,
        started = excluded.started, finished = NULL, reason = NULL, report = NULL;
    INSERT INTO dedup.members (log, owner, turn, lease) VALUES (_log, _owner, 0, _now + _lease)
    ON CONFLICT (log, owner) DO UPDATE SET lease = excluded.lease;
END
$$;

CREATE FUNCTION dedup.leave(
    _namespace text, _signature bytea, _owner bytea, _reason bytea, _report bytea
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    _log integer;
    _last bigint;
    _now double precision;
BEGIN
    PERFORM dedup.be_durable();
    SELECT * INTO _log, _last, _now FROM dedup.lock_log(_namespace, _signature);
    UPDATE dedup.members SET lease = 0 WHERE log = _log AND owner = _owner;
    UPDATE dedup.crawls SET finished = _now, reason = _reason, report = _report
    WHERE log = _log AND owner = _owner;
    SELECT _ends._last INTO _last
    FROM (
        SELECT array_agg(number ORDER BY number) AS numbers,
            array_agg(substring(claim FOR 4) || _owner ORDER BY number) AS names
        FROM dedup.claims WHERE log = _log AND substring(claim FROM 9) = _owner
    ) AS own, dedup.end_claims(_log, _last, _now, 'R', numbers, names) AS _ends;
    UPDATE dedup.logs SET last = _last WHERE namespace = _namespace AND last <> _last;
END
$$;

-- Delete some rows of logs that were reset; whether there are more.
CREATE FUNCTION dedup.sweep(_most integer) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    _log integer;
BEGIN
    SELECT log INTO _log FROM dedup.forgotten LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM dedup.entries WHERE log = _log AND position < _most + (
        SELECT min(position) FROM dedup.entries WHERE log = _log
    );
    IF FOUND THEN
        RETURN true;
    END IF;
    DELETE FROM dedup.matches WHERE log = _log AND number < _most + (
        SELECT min(number) FROM dedup.matches WHERE log = _log
    );
    IF FOUND THEN
        RETURN true;
    END IF;
    DELETE FROM dedup.claims WHERE log = _log;
    DELETE FROM dedup.members WHERE log = _log;
    DELETE FROM dedup.crawls WHERE log = _log;
    DELETE FROM dedup.forgotten WHERE log = _log;
    RETURN true;
END
$$;
