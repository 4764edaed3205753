"""Whatever is bundled into the pages stands in the notices with its version and licence text."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def test_every_bundled_package_is_named_with_its_licence_text() -> None:
    packages = json.loads((ROOT / "fe" / "package-lock.json").read_text())["packages"]
    text = (ROOT / "THIRD_PARTY_NOTICES.md").read_text(encoding="utf-8")
    bundled = {
        path.rpartition("node_modules/")[2]: entry["version"]
        for path, entry in packages.items()
        if path and not (entry.get("dev") or entry.get("devOptional"))
    }
    assert {"react", "@tanstack/react-query"} <= set(bundled)
    assert "typescript" not in bundled
    for name, version in bundled.items():
        section = text.partition(f"\n## {name} {version} (")[2].partition("\n## ")[0]
        assert len(section) > 300, f"{name} {version}: run python tools/third_party_notices.py"
