# SPDX-License-Identifier: GPL-3.0-or-later
"""What came of a fault: the figures of a row."""

import time


class Result:
    """`promised`: how often it has to be injected at least; else the row says nothing."""

    def __init__(self, promised):
        self.promised = promised
        self.injected = self.lost = self.doubled = 0
        self.recovered_s = 0.0

    def recovered(self, since):
        self.recovered_s = max(self.recovered_s, time.monotonic() - since)

    def count(self, bed, samples=False, **judging):
        """`samples`: no local scheduler died, so that none of its samples may be missing."""
        bed.check_account(samples)
        lost, doubled = bed.count(**judging)
        self.lost += lost
        self.doubled += doubled
