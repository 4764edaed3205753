"""Vendors of GPUs other than NVIDIA, and their terms: ``vendors.toml``."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.knowledge.gpus import MAX_NAME_CHARS
from torch_tb_profiler.once import once

AMD = "AMD"


class Vendor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A vendor whose terms differ from NVIDIA's.

    Attributes:
        name: Name of the vendor.
        pattern: Regular expression, searched in the name of a device, case-insensitive.
        other_links: Prefixes of links about other vendors.
        terms: NVIDIA's term → the vendor's.
        examples: Names of devices that must match (tests check each).
        counter_examples: Names that must not match.
    """

    name: str
    pattern: str
    other_links: tuple[str, ...]
    terms: dict[str, str]
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...]

    def localize(self, text: str) -> str:
        """``text`` with the vendor's terms."""
        return _term_pattern(self.name).sub(lambda match: self.terms[match[0]], text)

    def is_own_link(self, link: str) -> bool:
        """Whether a link is not about another vendor."""
        return not link.startswith(self.other_links)


class VendorFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``vendors.toml``."""

    vendors: tuple[Vendor, ...]


@once
def vendors() -> dict[str, Vendor]:
    """Name → vendor, in the order of the file."""
    return {vendor.name: vendor for vendor in load("vendors.toml", VendorFile).vendors}


@lru_cache(maxsize=1024)
def device_vendor(device_name: str) -> Vendor | None:
    """The vendor of a device by its name; None for NVIDIA and unknown names."""
    name = device_name[:MAX_NAME_CHARS]
    matches = (each for each in vendors().values() if re.search(each.pattern, name, re.IGNORECASE))
    return next(matches, None)


@lru_cache(maxsize=16)
def _term_pattern(vendor_name: str) -> re.Pattern[str]:
    """The terms of a vendor as whole words, longest first."""
    terms = sorted(vendors()[vendor_name].terms, key=len, reverse=True)
    return re.compile("|".join(rf"(?<!\w){re.escape(term)}(?!\w)" for term in terms))
