"""A process that answers requests."""

from __future__ import annotations

import pytest

from einloom.search.process import Process

ECHO = """
import json, sys
from einloom.search.process import private_output, send
answers = private_output()
print("aside: ä")
send(answers, {"hello": "ä"})
for line in sys.stdin:
    send(answers, json.loads(line))
"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "ascii"])
def test_what_a_terminal_takes_changes_no_answer(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    with Process("echo", ECHO) as process:
        assert process.start_up() == {"hello": "ä"}
        assert process.ask("say", label="ä") == {"do": "say", "label": "ä"}
