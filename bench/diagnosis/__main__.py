"""How right the findings are: labelled cases, judged.

python -m bench.diagnosis --seed 1 --cases 150
python -m bench.diagnosis --seed 1 --cases 150 --write    # also into docs/diagnosis-accuracy.md
python -m bench.diagnosis --case 1/17 --keep /tmp/case    # one case again, with its recording
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from bench.diagnosis.cases import make_cases
from bench.diagnosis.causes import causes
from bench.diagnosis.judging import Verdict, judge
from bench.diagnosis.report import summary, write_document


def main() -> int:
    """Read the arguments, run, and report."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.diagnosis",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=150)
    parser.add_argument("--only", choices=list(causes()), help="cases of one cause")
    parser.add_argument("--case", metavar="SEED/NUMBER", help="one case of a run of --cases")
    parser.add_argument("--keep", type=Path, help="where --case writes its recording")
    parser.add_argument("--write", action="store_true", help="put it into the document")
    given = parser.parse_args()
    seed, number = given.seed, None
    if given.case:
        seed, number = map(int, given.case.split("/"))
    verdicts = []
    since = time.monotonic()
    for index, make in enumerate(make_cases(seed, given.cases, given.only)):
        if number is not None and index != number:
            continue
        verdict = judge(make(), given.keep)
        verdicts.append(verdict)
        print(line(verdict), flush=True)
    print()
    print(summary(verdicts))
    print(f"{len(verdicts)} cases in {time.monotonic() - since:.0f} s")
    if given.write:
        write_document(verdicts, f"python -m bench.diagnosis --seed {seed} --cases {given.cases}")
    return 0


def line(verdict: Verdict) -> str:
    """One case for people."""
    marks = "".join(
        (
            "" if verdict.is_found or not verdict.is_expected else " MISSED",
            "" if verdict.is_first or not verdict.is_expected else " NOT FIRST",
            "".join(f" WRONG:{claim.code}" for claim in verdict.wrong),
        )
    )
    claims = ", ".join(
        claim.code + ("" if claim.gain_pct is None else f" {claim.gain_pct:.1f} %")
        for claim in verdict.claims
    )
    return (
        f"{verdict.seed:>7} {verdict.name} in {verdict.base}: true {verdict.true_pct:.1f} % of "
        f"{verdict.step_us / 1000:.1f} ms; {claims or '-'}{marks}"
    )


if __name__ == "__main__":
    sys.exit(main())
