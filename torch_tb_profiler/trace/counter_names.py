"""Names of counters that end with their unit."""

from __future__ import annotations

import re

_UNIT = re.compile(r"^(?P<name>.*?)\s*[\[(](?P<unit>[^\[\]()]*)[\])]\s*$", re.DOTALL)


def split_unit(text: str) -> tuple[str, str]:
    """Name and unit of a counter; percentages of any kind are ``%``. The unit is empty where the
    name states none.

    >>> split_unit("SMs Active [Throughput %]"), split_unit("Power (W)"), split_unit("PCIe")
    (('SMs Active', '%'), ('Power', 'W'), ('PCIe', ''))
    """
    match = _UNIT.match(text)
    if match is None:
        return text, ""
    unit = match["unit"].strip()
    return match["name"], "%" if unit.endswith("%") else unit
