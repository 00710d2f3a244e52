# SPDX-License-Identifier: GPL-3.0-or-later
"""Public tables of jobs with their power, as traces that `virtbed replay` reads.

    python3 -m virtbed.tables pm100 job_table.csv > pm100.swf
    python3 -m virtbed.tables fdata 24_04.csv.gz > fugaku.swf
    python3 -m virtbed.tables lassen allocations.csv --nodes-table nodes.csv > lassen.swf
    virtbed replay pm100.swf --policy easy,max-upe --energy-limit 1e9

The input is CSV with the publisher's column names in its first line, plain or gzipped.
docs/how-to/replay.md says how to make it of a publisher's Parquet files. The output is the
Standard Workload Format 2.2; a processor is a node, and field 19 (`; PowerField: 19`) has the mean
watts of the job, of all its nodes together. Where the columns, units and times are documented:

pm100: PM100, CINECA's Marconi100, May to October 2020, jobs that had their nodes for themselves;
    doi:10.5281/zenodo.10127767. github.com/francescoantici/PM100-data has the columns in
    documentation/job_features.md (run_time in seconds, time_limit in minutes or INFINITE);
    inspect_data.py has watts and a sample every 20 s, extract_data.py sums the samples over nodes.
fdata: F-DATA, RIKEN's Fugaku, March 2021 to April 2024; doi:10.5281/zenodo.11467483, CC BY 4.0.
    github.com/francescoantici/F-DATA has the columns in feature_list.md (duration in seconds) and
    the form of jid and usr in generation_scripts/clean_and_anonmyze_data.py. elpl is seconds in
    raps/dataloaders/fugaku.py of github.com/ExaDigiT/RAPS. The list calls avgpcon the average node
    power; generate_plots.py divides it by the nodes and finds watts of one node, so that it is the
    watts of all of them.
lassen: LLNL's Lassen, two of the three files in Lassen-Supercomputer-Job-Dataset of
    github.com/LLNL/LAST, CC BY 4.0; doi:10.1109/Cluster48925.2021.00057. Its README.md has the
    columns, which are those of IBM CSM: csmdb/sql/csm_create_tables.sql of github.com/IBM/CAST says
    that energy is the joules of a node during the allocation. time_limit is seconds in the page on
    input traces of github.com/llnl/dr_evt.
"""
import argparse
import csv
import datetime
import gzip
import re
import sys
from fractions import Fraction

MISSING = frozenset(("", "-", "nan", "nat", "none", "null", "<na>", "\\n"))
STATES = {"completed": 1, "failed": 0, "timeout": 0, "node_fail": 0, "out_of_memory": 0,
          "cancelled": 5}
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?"
                   r" ?(?:(Z|UTC)|([+-])(\d\d):?(\d\d)?)?")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?")


class TableError(ValueError):
    """What is wrong with a table, with the file, and the line and column where there is one."""


class _Row:
    """A row of a table, whose cells are read as what they are."""

    def __init__(self, path, line, cells):
        self._place = f"{path}:{line}"
        self._cells = cells

    def error(self, column, what):
        """The error that a cell is."""
        text = self._cells[column]
        text = text if len(text) <= 40 else text[:37] + "..."
        return TableError(f"{self._place}: column \"{column}\": \"{text}\" is {what}")

    def text(self, column):
        """A text; None: it is missing."""
        text = self._cells[column].strip()
        return None if text.lower() in MISSING else text

    def number(self, column):
        """A number, exactly, as a Fraction; None: it is missing."""
        text = self.text(column)
        if text is None:
            return None
        if not _NUMBER.fullmatch(text):
            raise self.error(column, "no number")
        return Fraction(text)

    def positive(self, column):
        """A number above 0; None: it is missing, or 0 or below, as -1 for what is not known."""
        value = self.number(column)
        return value if value is not None and value > 0 else None

    def whole(self, column):
        """A whole number above 0, which may be written as 4.0; None: as positive()."""
        value = self.positive(column)
        if value is not None and value.denominator != 1:
            raise self.error(column, "no whole number")
        return value

    def time(self, column):
        """A time as (seconds since 1970 as a Fraction, whether it has a time zone); None."""
        text = self.text(column)
        if text is None:
            return None
        match = _TIME.fullmatch(text)
        try:
            date = datetime.datetime(*map(int, match.groups()[:6]), tzinfo=datetime.timezone.utc)
        except (AttributeError, ValueError):
            raise self.error(column, "no time such as 2020-05-04 11:00:00") from None
        fraction, utc, sign, hours, minutes = match.groups()[6:]
        seconds = Fraction(int(date.timestamp()))
        if fraction:
            seconds += Fraction(int(fraction), 10 ** len(fraction))
        if sign:
            offset = 3600 * int(hours) + 60 * int(minutes or 0)
            seconds += offset if sign == "-" else -offset
        return seconds, bool(utc or sign)

    def mean(self, column):
        """The mean of a list such as [710, 722], or a number, of what is above 0 in it."""
        text = self.text(column)
        if text is None or not text.startswith("["):
            return self.positive(column)
        if "..." in text or not text.endswith("]"):
            raise self.error(column, "a list cut short: write it whole, or its mean")
        values = []
        for word in text[1:-1].replace(",", " ").split():
            if word.lower() in MISSING:
                continue
            if not _NUMBER.fullmatch(word):
                raise self.error(column, f"a list with \"{word[:20]}\", which is no number")
            value = Fraction(word)
            if value > 0:
                values.append(value)
        return sum(values) / len(values) if values else None


def _rows(path, columns, table):
    """The rows of a CSV file that has these columns, and perhaps others."""
    try:
        with open(path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        opened = (gzip.open if packed else open)(path, "rt", encoding="utf-8-sig", newline="")
        with opened as file:
            reader = csv.reader(file, strict=True)
            names = next(reader, [])
            for column in columns:
                if column not in names:
                    raise TableError(f"{path}: no column \"{column}\", which {table} has; the "
                                     "first line has to name the columns")
            for cells in reader:
                if not cells:
                    continue
                if len(cells) != len(names):
                    raise TableError(f"{path}:{reader.line_num}: {len(cells)} cells; the first "
                                     f"line names {len(names)} columns")
                yield _Row(path, reader.line_num, dict(zip(names, cells)))
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise TableError(f"{path}: cannot be read: {error}") from None
    except csv.Error as error:
        raise TableError(f"{path}:{reader.line_num}: {error}") from None


class _Job:
    """A job of a table; what is None is not known."""
    __slots__ = ("number", "submit", "wait_s", "run_s", "nodes", "asked", "limit_s", "status",
                 "user", "power_w")

    def __init__(self, row, number, times, run_s=None):
        """`times` are the columns of submission, start and end; `run_s` the run time, or None."""
        self.number = number
        self.submit, start, end = (row.time(column) for column in times)
        zones = {time[1] for time in (self.submit, start, end) if time}
        if len(zones) > 1:
            raise row.error(times[0], "a time whose row has times with and without a time zone")
        self.wait_s = _between(self.submit, start)
        self.run_s = _between(start, end) if run_s is None else run_s


def _between(first, last):
    """The seconds between two times; None where one is missing, or they are in no order."""
    if first is None or last is None or last[0] < first[0]:
        return None
    return last[0] - first[0]


def _pseudonym(row, column, prefix):
    """The number of what is named such as jid_12."""
    text = row.text(column)
    match = re.fullmatch(re.escape(prefix) + r"(\d+)", text or "")
    if not match:
        raise row.error(column, f"not {prefix} and a number")
    return int(match[1])


def _pm100(table, arguments):
    for row in _rows(arguments.file, table.columns, table.title):
        number = row.whole("job_id")
        if number is None:
            raise row.error("job_id", "no job number")
        job = _Job(row, number, ("submit_time", "start_time", "end_time"),
                   row.positive("run_time"))
        job.nodes = row.whole("num_nodes_alloc")
        job.asked = row.whole("num_nodes_req")
        limit = row.text("time_limit")
        job.limit_s = None if limit and limit.upper() in ("INFINITE", "UNLIMITED") else \
            _times(row.positive("time_limit"), 60)
        job.status = STATES.get((row.text("job_state") or "").lower(), -1)
        job.user = row.text("user_id")
        job.power_w = row.mean("node_power_consumption")
        yield job


def _fdata(table, arguments):
    for row in _rows(arguments.file, table.columns, table.title):
        job = _Job(row, _pseudonym(row, "jid", "jid_"), ("adt", "sdt", "edt"),
                   row.positive("duration"))
        job.nodes = row.whole("nnuma")
        job.asked = row.whole("nnumr")
        job.limit_s = row.positive("elpl")
        job.status = STATES.get((row.text("exit state") or "").lower(), -1)
        job.user = row.text("usr")
        job.power_w = row.positive("avgpcon")
        yield job


def _lassen(table, arguments):
    if arguments.nodes_table is None:
        raise TableError("lassen: give --nodes-table final_csm_allocation_node_history.csv, which "
                         "has the energy")
    energies = {}  # allocation: its nodes, those with an energy, and their joules
    for row in _rows(arguments.nodes_table, ("allocation_id", "energy"), table.title):
        entry = energies.setdefault(row.whole("allocation_id"), [0, 0, 0])
        joules = row.positive("energy")
        entry[0] += 1
        if joules is not None:
            entry[1] += 1
            entry[2] += joules
    for row in _rows(arguments.file, table.columns, table.title):
        number = row.whole("allocation_id")
        if number is None:
            raise row.error("allocation_id", "no number of an allocation")
        job = _Job(row, number, ("job_submit_time", "begin_time", "end_time"))
        job.nodes = job.asked = row.whole("num_nodes")
        job.limit_s = row.positive("time_limit")
        status = row.number("exit_status")
        job.status = -1 if status is None else int(status == 0)
        job.user = row.text("hashed_user_id")
        nodes, known, joules = energies.get(number, (0, 0, 0))
        whole = known == nodes == job.nodes and job.run_s
        job.power_w = joules / job.run_s if whole else None
        yield job


def _times(value, factor):
    return None if value is None else value * factor


class Table:
    """A table that can be converted: its `name` and `title`, the machine's `nodes`, the `columns`
    that it has to have, and the function that reads it."""

    def __init__(self, name, title, nodes, source, read, columns):
        self.name = name
        self.title = title
        self.nodes = nodes
        self.source = source
        self.columns = columns
        self._read = read

    def jobs(self, arguments):
        """The jobs of the table, in its order."""
        return self._read(self, arguments)


TABLES = {table.name: table for table in (
    Table("pm100", "PM100 (Marconi100)", 980, "doi:10.5281/zenodo.10127767", _pm100,
          ("job_id", "submit_time", "start_time", "end_time", "run_time", "num_nodes_req",
           "num_nodes_alloc", "time_limit", "job_state", "user_id", "node_power_consumption")),
    Table("fdata", "F-DATA (Fugaku)", 158976, "doi:10.5281/zenodo.11467483, CC BY 4.0", _fdata,
          ("jid", "usr", "adt", "sdt", "edt", "duration", "nnumr", "nnuma", "elpl", "exit state",
           "avgpcon")),
    Table("lassen", "Lassen (LLNL's LAST)", 792, "doi:10.1109/Cluster48925.2021.00057, CC BY 4.0",
          _lassen,
          ("allocation_id", "job_submit_time", "begin_time", "end_time", "num_nodes", "time_limit",
           "exit_status", "hashed_user_id")),
)}


def _decimal(value):
    """A number with at most 6 decimals; -1: it is not known."""
    if value is None:
        return "-1"
    millionths = round(Fraction(value) * 10 ** 6)
    whole, rest = divmod(abs(millionths), 10 ** 6)
    text = f"{whole}.{rest:06}".rstrip("0").rstrip(".")
    return "-" + text if millionths < 0 else text


def _line(job, begin, users):
    user = -1 if job.user is None else users.setdefault(job.user, len(users) + 1)
    return " ".join(map(str, (
        job.number, _decimal(job.submit[0] - begin), _decimal(job.wait_s), _decimal(job.run_s),
        _decimal(job.nodes), -1, -1, _decimal(job.asked or job.nodes), _decimal(job.limit_s), -1,
        job.status, user, -1, -1, -1, -1, -1, -1, _decimal(job.power_w))))


def convert(table, arguments, output):
    """Writes the trace of a Table to `output`, a text file, and what is missing to standard error.
    `arguments` has the members `file`, `nodes_table` and `nodes`, which may be None."""
    jobs = list(table.jobs(arguments))
    known = [job for job in jobs if job.submit is not None]
    if not known:
        raise TableError(f"{arguments.file}: no job with a time of submission")
    if len({job.submit[1] for job in known}) > 1:
        raise TableError(f"{arguments.file}: some times have a time zone and others have none")
    known.sort(key=lambda job: job.submit[0])  # stable: equal ones in the order of the table
    begin, zone = known[0].submit
    date = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=int(begin // 1))
    begin_text = f"; UnixStartTime: {_decimal(begin)}" if zone else \
        f"; StartTime: {date:%Y-%m-%d %H:%M:%S}, by the clock of the table"
    nodes = arguments.nodes or table.nodes
    output.write(f"""; Version: 2.2
; Computer: {table.title}
; Conversion: virtbed.tables, of {table.source}
; MaxJobs: {len(known)}
; MaxRecords: {len(known)}
{begin_text}
; MaxNodes: {nodes}
; MaxProcs: {nodes}
; PowerField: 19
; Note: a processor is a node; field 19 has the mean watts of the job, of all its nodes
""")
    users = {}
    for job in known:
        output.write(_line(job, begin, users) + "\n")
    for count, what in (
            (len(jobs) - len(known), "without a time of submission, left out"),
            (sum(job.run_s is None or job.nodes is None and job.asked is None for job in known),
             "without a run time or a size, which a replay leaves out"),
            (sum(job.power_w is None for job in known), "whose power is not known")):
        if count:
            print(f"virtbed.tables: {arguments.file}: {count} job{'s' if count > 1 else ''} {what}",
                  file=sys.stderr)


def main(words=None):
    """The command. Returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python3 -m virtbed.tables", description="Converts a public table of jobs with their "
        "power into a trace for `virtbed replay` (docs/how-to/replay.md, Tables with power).")
    parser.add_argument("table", choices=TABLES, help="whose columns the file has")
    parser.add_argument("file", help="CSV, plain or gzipped")
    parser.add_argument("--nodes-table", metavar="FILE",
                        help="lassen: final_csm_allocation_node_history.csv")
    parser.add_argument("--nodes", type=int, metavar="N",
                        help="nodes of the machine (default: all that it had)")
    arguments = parser.parse_args(words)
    if arguments.nodes is not None and arguments.nodes < 1:
        parser.error("--nodes: give a number above 0")
    if arguments.nodes_table and arguments.table != "lassen":
        parser.error("--nodes-table is for lassen")
    csv.field_size_limit(1 << 26)
    try:
        convert(TABLES[arguments.table], arguments, sys.stdout)
        sys.stdout.flush()
    except TableError as error:
        print(f"virtbed.tables: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
