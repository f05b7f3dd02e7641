"""The schema of logs in PostgreSQL: whether it is there, and how it is made."""

from pathlib import Path

from dedup.sqlite_file import LedgerError
from dedup.stores.shared.log import FORMAT
from dedup.stores.shared.postgres_client import PostgresClient

_SCHEMA = Path(__file__).with_name("postgres_log.sql")
# For one process at a time. The schema may be there, if the role may not make one.
_MAKE = """
    DO $make$ BEGIN
        PERFORM pg_advisory_xact_lock(x'6465647570'::bigint);
        IF to_regclass('dedup.about') IS NULL THEN
            IF to_regnamespace('dedup') IS NULL THEN
                CREATE SCHEMA dedup;
            END IF;
            EXECUTE $script$SCRIPT$script$;
        END IF;
    END $make$
"""


async def has_schema(client: PostgresClient) -> bool:
    """Return whether the tables are there; raises LedgerError for those of somebody else."""
    [[has_tables, has_others]] = await client.query(
        """
        SELECT EXISTS (
                SELECT FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
                WHERE relnamespace = to_regnamespace('dedup')
                    AND relname = 'about' AND attname = 'format'
            ),
            EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('dedup'))
            OR EXISTS (SELECT FROM pg_proc WHERE pronamespace = to_regnamespace('dedup'))
        """
    )
    if has_tables:
        [[found]] = await client.query("SELECT min(format) FROM dedup.about")
        if found == FORMAT:
            return True
        raise LedgerError(
            f"{client.name} has format {found} in its schema 'dedup', this scrapy-dedup needs "
            f"format {FORMAT}: use another database, or remove it (DROP SCHEMA dedup CASCADE)"
        )
    if has_others:
        raise LedgerError(
            f"{client.name} has a schema 'dedup' that is not of scrapy-dedup: use another database"
        )
    return False


async def make_schema(client: PostgresClient) -> None:
    """Create all tables and functions, in one transaction, unless others are faster."""
    script = _SCHEMA.read_text("utf-8") + f"INSERT INTO dedup.about VALUES ({FORMAT})"
    await client.query(_MAKE.replace("SCRIPT", script).encode())
