"""How many examples a random test tries."""

from __future__ import annotations

from hypothesis import settings

USUAL = 30
"""What the counts of tests are relative to: those without a count try as many."""


def examples(count: int) -> settings:
    """Settings of a test that needs more or fewer examples than others.

    Profiles scale the count: the default one tries half of it, ``search`` ten times as many.
    """
    profile = settings.default
    assert profile is not None
    return settings(max_examples=max(1, count * profile.max_examples // USUAL))
