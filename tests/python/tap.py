# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the tests of the program that imports it, by Python's unittest, and prints TAP:

    import tap
    class Name(unittest.TestCase): ...
    tap.main()

The name of a test is its docstring. What it raises is printed as a comment."""
import os
import sys
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODULE = os.path.join(TOP, "controller/plugin/python")
EXAMPLES = os.path.join(MODULE, "examples")
sys.path[:0] = [MODULE, EXAMPLES]
sys.dont_write_bytecode = True

# Whether tests that take long are to be carried out, by ./testbed check --long.
LONG = bool(os.environ.get("VIRTBED_LONG"))


class _Result(unittest.TestResult):
    """Prints a line for each test as it ends."""
    count = 0
    comments = None

    def startTest(self, test):
        super().startTest(test)
        self.count += 1
        self.comments = None
        self.skipped_because = None

    def note(self, problem):
        self.comments = (self.comments or "") + problem

    def addError(self, test, err):
        super().addError(test, err)
        self.note(self.errors[-1][1])

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.note(self.failures[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.note(f"{subtest}\n{self._exc_info_to_string(err, test)}")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.skipped_because = reason

    def stopTest(self, test):
        super().stopTest(test)
        verdict = "ok" if self.comments is None else "not ok"
        skip = f" # SKIP {self.skipped_because}" if self.skipped_because else ""
        for line in (self.comments or "").splitlines():
            print("#", line)
        print(f"{verdict} {self.count} - {test.shortDescription() or test}{skip}", flush=True)


def main():
    """Runs all tests; the exit status is 1 where one fails."""
    tests = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    print(f"1..{tests.countTestCases()}", flush=True)
    result = _Result()
    tests.run(result)
    sys.exit(not result.wasSuccessful())
