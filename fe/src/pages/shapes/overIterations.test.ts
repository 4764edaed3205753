/** Curves of one operator over the iterations. */
import { describe, expect, it } from "vitest";

import type { Row, Table } from "../../api/types";
import { iterationCurves } from "./overIterations";

const KEYS = ["iteration", "calls", "time_us", "call_mean_us"];

function tableOf(rows: readonly Row[]): Table {
  return { columns: KEYS.map((key) => ({ key })), rows } as unknown as Table;
}

describe("iterationCurves", () => {
  it("has the sum and the mean per call of each iteration, in order of its number", () => {
    const curves = iterationCurves(tableOf([["10", 1, 50.75, 50.75], ["1", 2, 307.04, 153.52]]));
    expect(curves?.lines.map(({ name, x, y }) => [name, x, y])).toEqual([
      ["Sum per iteration", [1, 10], [307.04, 50.75]],
      ["Mean per call", [1, 10], [153.52, 50.75]],
    ]);
  });

  it("adds the rows of an iteration with several shapes, without calls that have no time", () => {
    // Of the three calls of the first row two have a time: 20 ÷ 10.
    const curves = iterationCurves(tableOf([["1", 3, 20, 10], ["1", 1, 40, 40], ["2", 1, 7, 7], ["3", 1, null, null]]));
    expect(curves?.lines[0]).toMatchObject({ x: [1, 2], y: [60, 7] });
    expect(curves?.lines[1]?.y).toEqual([20, 7]);
  });

  it("is none of a single iteration", () => {
    expect(iterationCurves(tableOf([["1", 1, 5, 5]]))).toBeNull();
  });

  it("counts iterations that are not all numbered", () => {
    expect(iterationCurves(tableOf([["warm-up", 1, 5, 5], ["1", 1, 6, 6]]))?.lines[0]?.x).toEqual([0, 1]);
  });
});
