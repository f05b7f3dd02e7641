"""The worker process, spoken to through its pipes as the pool does."""

import pickle
import subprocess
import sys

import pytest
from bad_extractors import misbehaving

from dedup.methods import SimHash
from dedup.page import PageReader
from dedup.workers.pool import READY, Failure

READER = PageReader(misbehaving, SimHash())


def answers_to(*messages):
    """All that a worker answers to these messages, and its exit status once the pipe is closed."""
    path = "import sys; sys.path[:] = sys.argv.pop(1).split('|')\n"
    script = path + "import runpy; runpy.run_module('dedup.workers.worker', run_name='__main__')"
    run = subprocess.run(
        [sys.executable, "-c", script, "|".join(sys.path)],
        input=b"".join(messages),
        capture_output=True,
        timeout=30,
    )
    assert run.stderr == b""
    answers = []
    assert run.stdout.startswith(READY)
    run.stdout = run.stdout.removeprefix(READY)
    while run.stdout:
        answers.append(pickle.loads(run.stdout))
        run.stdout = run.stdout[len(pickle.dumps(answers[-1])) :]
    return answers, run.returncode


@pytest.mark.slow
def test_a_worker_answers_the_setup_and_every_page():
    html, field = PageReader.read_html, PageReader.read_field
    tasks = [(html, "one"), (html, "raise"), (field, "<p>two</p>")]
    messages = [pickle.dumps(message) for message in ((READER, 5), *tasks)]
    assert answers_to(*messages) == (
        [
            [],
            READER.read_html("one"),
            Failure("KeyError: 'of the extractor'"),
            READER.read_field("<p>two</p>"),
        ],
        0,
    )


@pytest.mark.slow
@pytest.mark.parametrize("setup", [b"\x80\x05 no pickle", b"cno_such_module\nname\n."])
def test_a_setup_that_cannot_be_loaded_is_answered_with_the_reason(setup):
    answers, status = answers_to(setup)
    assert [type(answer) for answer in answers] == [Failure]
    assert "Traceback" in answers[0].message
    assert status == 0
