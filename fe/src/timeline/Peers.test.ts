import { expect, it } from "vitest";

import type { TimelineFlowsAnswer, TimelineSlicePayload } from "../generated/schema";
import { peerBars } from "./Peers";

const slice = (id: number, startNs: number, durNs: number): TimelineSlicePayload => ({ id, name: "ncclAllReduce", category: 18, track: "t", lane: 0, start_ns: startNs, dur_ns: durNs, short_name: null, demangled_name: null });

it("bars of all ranks are on one clock; arrows to other slices are ignored", () => {
  const selected = slice(1, 1000, 100);
  const answer: TimelineFlowsAnswer = {
    schema_version: 1,
    slice: selected,
    flow_count: 3,
    onward: null, back: null, next: null,
    previous: null,
    flows: [
      { kind: "launch", source: slice(9, 500, 10), target: selected, worker: null, moved_ns: 0 },
      { kind: "collective", source: selected, target: slice(7, 900, 200), worker: "rank1", moved_ns: 40 },
      { kind: "collective", source: selected, target: slice(8, 1080, 20), worker: "rank2", moved_ns: -5 },
    ],
  };
  expect(peerBars(answer, "rank0").map(({ worker, id, leftPct, widthPct }) => [worker, id, leftPct, widthPct])).toEqual([
    ["rank0", 1, 50, 50],
    ["rank1", 7, 0, 100],
    ["rank2", 8, 90, 10],
  ]);
});
