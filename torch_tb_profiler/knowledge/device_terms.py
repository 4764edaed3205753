"""Terms of devices that are not NVIDIA's: ``device_terms.toml``."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.knowledge.gpus import MAX_NAME_CHARS
from torch_tb_profiler.once import once

GPU = "GPU"
"""What texts call a device."""

AMD = "AMD"


class DeviceTerms(msgspec.Struct, frozen=True, eq=False, forbid_unknown_fields=True):
    """A kind of devices whose terms differ from NVIDIA's.

    Attributes:
        name: Name of the kind, that of the vendor.
        device: What one device is called.
        labels: Regular expression of the whole label of a device's track.
        models: Regular expression, searched in the name of a device, case-insensitive.
        calls: Regular expression, searched in the names of runtime calls.
        other_links: Prefixes of links about other devices.
        other_facts: Keys of facts about software of other devices.
        terms: NVIDIA's term → that of these devices.
        examples: Names of devices that must match (tests check each).
        counter_examples: Names that must not match.
        no_matrix_units: Why it is unknown which kernels use matrix units; None where the names of
            kernels show it.
    """

    name: str
    device: str
    labels: str
    models: str
    calls: str
    other_links: tuple[str, ...]
    other_facts: tuple[str, ...]
    terms: dict[str, str]
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...]
    no_matrix_units: str | None = None

    def localize(self, text: str) -> str:
        """``text`` with the terms of these devices."""
        return _pattern(self.name).sub(lambda match: self.terms[match[0]], text)

    def is_own_link(self, link: str) -> bool:
        """Whether a link is not about other devices."""
        return not link.startswith(self.other_links)


class DeviceTermsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``device_terms.toml``."""

    kinds: tuple[DeviceTerms, ...]


@once
def device_kinds() -> dict[str, DeviceTerms]:
    """Name → kind, in the order of the file."""
    return {kind.name: kind for kind in load("device_terms.toml", DeviceTermsFile).kinds}


@lru_cache(maxsize=1024)
def kind_of_label(label: str) -> DeviceTerms | None:
    """The kind of a device with this label; None for NVIDIA's GPUs and unknown devices."""
    return next(
        (each for each in device_kinds().values() if re.fullmatch(each.labels, label)), None
    )


@lru_cache(maxsize=1024)
def kind_of_model(device_name: str) -> DeviceTerms | None:
    """The kind of a device by its name; None for NVIDIA's and unknown names."""
    name = device_name[:MAX_NAME_CHARS]
    kinds = device_kinds().values()
    return next((each for each in kinds if re.search(each.models, name, re.IGNORECASE)), None)


def kind_of_calls(names: list[str]) -> DeviceTerms | None:
    """The one kind whose runtime has calls of these names; None where none or several have."""
    kinds = [
        each
        for each in device_kinds().values()
        if any(re.search(each.calls, name) for name in names)
    ]
    return kinds[0] if len(kinds) == 1 else None


@lru_cache(maxsize=16)
def _pattern(kind: str) -> re.Pattern[str]:
    """The terms of a kind as whole words, longest first."""
    terms = sorted(device_kinds()[kind].terms, key=len, reverse=True)
    return re.compile("|".join(rf"(?<!\w){re.escape(term)}(?!\w)" for term in terms))
