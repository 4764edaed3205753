/** Cases: a location that answers late, times that are stable from poll to poll, the server itself, texts. */
import { describe, expect, it } from "vitest";

import { countdownText, serverOutage, outagesOf, outageText, type Outage } from "./outages";
import type { Runs } from "./types";

const NOW = new Date(2026, 4, 3, 12, 5, 0).getTime();

function textOf(outage: Outage | undefined, nowMs: number): string {
  return outage === undefined ? "" : outageText(outage, nowMs) + countdownText(outage, nowMs);
}

function answer(silent_s: number, next_try_s: number, place = "s3://traces"): Runs {
  const error = { code: "unreachable", message: "no answer within 20 s", hint: null };
  const silent_places = [{ place, silent_s, next_try_s, error }];
  return { schema_version: 1, discovering: false, runs: [], notes: [], problem: null, silent_places, left_out: [], left_out_counts: {} };
}

describe("a location that does not answer", () => {
  it("is reported with its begin, its duration and the next try", () => {
    const [outage] = outagesOf(answer(120, 8), NOW, []);
    expect(textOf(outage, NOW)).toBe("No answer from s3://traces since 12:03 (2 min). Next try in 8 s.");
    expect(textOf(outage, NOW + 5000)).toContain(" (2 min). Next try in 3 s.");
    expect(textOf(outage, NOW + 9000)).toContain(" (2 min). Retrying now.");
  });

  it("has stable times while answers differ by their delay", () => {
    const before = outagesOf(answer(120, 8), NOW, []);
    expect(outagesOf(answer(125.4, 3.1), NOW + 5000, before)).toEqual(before);
    const [later] = outagesOf(answer(133, 27), NOW + 13_000, before);
    expect(later).toEqual({ ...before[0], nextTryMs: NOW + 40_000 });
  });

  it("is gone when it is no longer named", () => {
    const before = outagesOf(answer(120, 8), NOW, []);
    expect(outagesOf({ ...answer(0, 0), silent_places: [] }, NOW, before)).toEqual([]);
  });

  it("of another day names the day", () => {
    const [outage] = outagesOf(answer(86_400 + 3600, 8), NOW, []);
    expect(textOf(outage, NOW)).toContain(new Date(2026, 4, 2).toLocaleDateString());
    expect(textOf(outage, NOW)).toContain("(25 h 0 min)");
  });
});

describe("the server itself", () => {
  const failure = { code: "no_answer", message: "The server does not answer.", hint: "" };

  it("is out since the first request without an answer", () => {
    const first = serverOutage(failure, NOW, 3000, null);
    const second = serverOutage(failure, NOW + 4000, 6000, first);
    expect(textOf(second, NOW + 4000)).toBe("No answer from the server since 12:05 (4 s). Next try in 6 s.");
  });
});
