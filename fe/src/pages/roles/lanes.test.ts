import { describe, expect, it } from "vitest";

import type { Table, View } from "../../api/types";
import { laneBoxes, lanesOf } from "./lanes";

function table(columns: readonly string[], rows: Table["rows"]): Table {
  return { columns: columns.map((key) => ({ key })), rows, row_count: rows.length } as unknown as Table;
}

const PERIODS = table(
  ["worker", "start_us", "end_us", "role"],
  [
    ["a", 0, 40, "Rollout"],
    ["a", 10, 20, "Reward"],
    ["b", 0, 20, "Training"],
  ],
);
const X = [0, 10, 20, 30];
const RANKS = { lines: [{ name: "a", x: X, y: [100, 50, 50, null] }, { name: "b", x: X, y: [0, 0, null, null] }] };
const ROLES = { lines: [{ name: "Rollout", x: X, y: [100, 100, 0, 0] }] };

function view(series: object): View {
  return { series, tables: { role_periods: PERIODS, roles: table(["role"], [["Rollout"], ["Training"]]) } } as unknown as View;
}

describe("lanes", () => {
  it("are ranks with the role of each moment, the shortest period first", () => {
    const lanes = lanesOf(view({ rank_activity: RANKS, role_activity: ROLES }));
    expect(lanes?.ofRanks).toBe(true);
    expect(lanes?.lanes.map(({ name }) => name)).toEqual(["a", "b"]);
    expect(lanes?.lanes[0]?.parts.map(({ role }) => role)).toEqual(["Rollout", "Reward", "Rollout", "Rollout"]);
    expect(lanes?.lanes[1]?.parts.map(({ role }) => role)).toEqual(["Training", "Training", null, null]);
    expect(lanes?.roles).toEqual(["Rollout", "Training", "Reward"]);
    expect([lanes?.startUs, lanes?.endUs]).toEqual([0, 40]);
  });

  it("are roles where ranks are many", () => {
    const lanes = lanesOf(view({ role_activity: ROLES }));
    expect(lanes?.lanes[0]?.parts.map(({ role }) => role)).toEqual(Array(4).fill("Rollout"));
  });

  it("are none without a series", () => {
    expect(lanesOf(view({}))).toBeNull();
    expect(lanesOf(view({ role_activity: { lines: [] } }))).toBeNull();
  });

  it("draw parts of one height and role as one box, and nothing where nothing is recorded", () => {
    const lanes = lanesOf(view({ role_activity: { lines: [{ name: "Rollout", x: X, y: [100, 100, 40, null] }] } }));
    if (lanes === null || lanes.lanes[0] === undefined) throw new Error("no lanes");
    expect(laneBoxes(lanes.lanes[0], lanes, 80)).toEqual([
      { x: 0, width: 40, share: 1, role: "Rollout" },
      { x: 40, width: 20, share: 0.4, role: "Rollout" },
    ]);
  });
});
