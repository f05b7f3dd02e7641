"""The settings of a crawl, checked: the only reader of ``DEDUP_*``."""

from dedup.scrapy_plugin.settings.crawl import LEDGER_OF_A_JOB as LEDGER_OF_A_JOB
from dedup.scrapy_plugin.settings.crawl import MARK_FIELD as MARK_FIELD
from dedup.scrapy_plugin.settings.crawl import DedupSettings as DedupSettings
from dedup.scrapy_plugin.settings.values import SettingError as SettingError
from dedup.scrapy_plugin.settings.values import as_switch as as_switch
