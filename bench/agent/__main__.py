"""Command line of the evaluation; see the package."""

from __future__ import annotations

import argparse
import asyncio
import sys
from statistics import mean

from bench.agent.model import questions
from bench.agent.truths import FOLDERS, answer_of
from bench.agent.walking import Walk, walk


def main() -> int:
    """0 if all questions are answered rightly within the limits, 1 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m bench.agent", description=__doc__)
    parser.add_argument("what", nargs="?", choices=("walks", "truths"), default="walks")
    parser.add_argument("--only", metavar="TEXT", default="", help="questions with TEXT in the id")
    parser.add_argument("--show", action="store_true", help="print the last answer of each")
    arguments = parser.parse_args()
    chosen = [each for each in questions() if arguments.only in each.id]
    missing = {each.folder for each in chosen if not FOLDERS[each.folder].is_dir()}
    for folder in sorted(missing):
        print(f"{FOLDERS[folder]} is not here: its questions are left out.")
    chosen = [each for each in chosen if each.folder not in missing]
    if arguments.what == "truths":
        for question in chosen:
            truth = answer_of(question.folder, question.truth)
            print(f"{question.id}\t{question.answer}\t{'-' if truth is None else truth}")
        return 0
    walks = asyncio.run(walk(chosen))
    for each in walks:
        print(_line(each))
        if arguments.show:
            print(f"{each.last}\n")
    sizes = [size for each in walks for size in each.sizes_bytes]
    passed = sum(each.passed for each in walks)
    print(
        f"{passed} of {len(walks)} right; {len(sizes) / len(walks):.1f} calls per question; "
        f"{mean(sizes):,.0f} bytes per answer, {max(sizes):,} at most"
    )
    return 0 if passed == len(walks) else 1


def _line(each: Walk) -> str:
    verdict = "right" if each.passed else "WRONG"
    sizes = " + ".join(f"{size:,}" for size in each.sizes_bytes)
    return f"{verdict}  {each.question.id:32} {sizes} bytes"


if __name__ == "__main__":
    sys.exit(main())
