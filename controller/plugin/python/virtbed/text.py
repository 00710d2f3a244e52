# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON as virtbed writes it: keys sorted, no spaces, numbers with 17 digits.

Any JSON is read by virtbed. This form is for comparing texts: that of a snapshot or of actions is,
byte for byte, the text that a run directory has.
"""
import json
from math import isfinite

_CONTROLS = {code: "\\u%04X" % code for code in range(0x20) if chr(code) not in "\b\f\n\r\t"}
_NAMED = {ord('"'): '\\"', ord("\\"): "\\\\", 8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r"}
_ESCAPES = {**_CONTROLS, **_NAMED}


def real(value):
    """A number that is no integer by its nature, such as a time; null for nan and infinities."""
    if not isfinite(value):
        return "null"
    digits, has_exponent, exponent = ("%.17g" % value).partition("e")
    if has_exponent:
        return f"{digits}e{int(exponent)}"
    return digits if "." in digits else digits + ".0"


def dumps(value):
    """A value as text: dicts, lists, texts, numbers, booleans and None."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{dumps(key)}:{dumps(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(dumps, value)) + "]"
    if isinstance(value, float):
        return real(value)
    if isinstance(value, str):
        return f'"{value.translate(_ESCAPES)}"'
    return json.dumps(value)
