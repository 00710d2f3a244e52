# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of a run directory (docs/reference/store.md), as lists of dicts.

    from virtbed.rundir import RunDirectory
    with RunDirectory("results/trial") as store:
        for run in store.rows("run"):
            print(run["policy"], run["limit_fraction"], run["utility"])
        for decision in store.decisions(run=1):
            print(decision.time_s, len(decision.snapshot.waiting), decision.actions)

It is opened for reading; a run under way may be read too.
"""
import json
import os
import sqlite3

from virtbed.snapshot import Snapshot

APPLICATION = 0x76627264  # "vbrd", the application_id of run.sqlite


class Decision:
    """A mapping event as recorded: its time, what the policy saw, and the actions, dicts."""
    __slots__ = ("time_s", "snapshot_text", "actions_text")

    def __init__(self, time_s, snapshot_text, actions_text):
        self.time_s = time_s
        self.snapshot_text = snapshot_text
        self.actions_text = actions_text

    @property
    def snapshot(self):
        """What the policy saw (virtbed.snapshot.Snapshot)."""
        return Snapshot.loads(self.snapshot_text)

    @property
    def actions(self):
        """What it decided."""
        return json.loads(self.actions_text)


class RunDirectory:
    """A run directory, or the state directory of a service."""

    def __init__(self, path):
        """`path` is the directory, or its run.sqlite. OSError: there is none, or it is none."""
        self.path = os.path.join(path, "run.sqlite") if os.path.isdir(path) else os.fspath(path)
        if not os.path.exists(self.path):
            raise FileNotFoundError(f"no run directory: {self.path} is missing")
        self._store = self._open("mode=ro")
        try:
            application = self._pragma("application_id")
        except sqlite3.OperationalError:  # the directory is not ours to write, nor is it written
            self._store = self._open("immutable=1")
            application = self._pragma("application_id")
        except sqlite3.DatabaseError:
            application = None
        if application != APPLICATION:
            raise OSError(f"{self.path} is no store of virtbed")

    def _open(self, how):
        place = os.path.abspath(self.path).replace("?", "%3f").replace("#", "%23")
        store = sqlite3.connect(f"file:{place}?{how}", uri=True, timeout=60)
        store.row_factory = sqlite3.Row
        return store

    def _pragma(self, name):
        return self._store.execute(f"PRAGMA {name}").fetchone()[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Closes the store."""
        self._store.close()

    def query(self, statement, *values):
        """The rows of an SQL query, as dicts; `?` in it stand for the values."""
        return [dict(row) for row in self._store.execute(statement, values)]

    def tables(self):
        """The names of all tables and views."""
        return [row["name"] for row in self.query(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
            "AND name NOT LIKE 'sqlite_%' ORDER BY name")]

    def rows(self, table, **where):
        """The rows of a table, or of those that have the values given: rows("task", run=1)."""
        if table not in self.tables():
            raise KeyError(f"no table \"{table}\"; known: {' '.join(self.tables())}")
        named = " AND ".join(f'"{column}" IS ?' for column in where)
        return self.query(f'SELECT * FROM "{table}"' + (f" WHERE {named}" if named else ""),
                          *where.values())

    @property
    def meta(self):
        """Facts about the whole experiment: a dict of texts."""
        return {row["key"]: row["value"] for row in self.rows("meta")}

    def decisions(self, run=1):
        """The mapping events of a run in order, one at a time: Decision."""
        for row in self._store.execute("SELECT time_s, snapshot, actions FROM whole_decision "
                                       "WHERE run = ? ORDER BY id", (run,)):
            yield Decision(*row)
