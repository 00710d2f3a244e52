# SPDX-License-Identifier: GPL-3.0-or-later
"""Comparing values: numbers that agree in 12 significant digits are equal.

Two sums that are the same number on paper differ in their last bits; by these functions they tie,
here as in virtbed (controller/sched/rank_key.h).
"""

# Values that differ by more than this fraction of the sum of their sizes have different keys.
NEAR = 1.1e-11


def key(value):
    """The value rounded to 12 significant digits: to sort by. Any number but nan."""
    return float("%.11e" % value)


def compare(a, b):
    """Less than 0, 0 or more than 0, as the key of `a` is below, at or above that of `b`."""
    if a != b and abs(a - b) <= NEAR * (abs(a) + abs(b)):
        a = key(a)
        b = key(b)
    return (a > b) - (a < b)


def above(a, b):
    """Whether the key of `a` is above that of `b`."""
    return a > b and compare(a, b) > 0
