/** Ranks in a matrix: by strategy, by node, in order; and how tall matrices are split. */
import { describe, expect, it } from "vitest";

import { arrangements, panels, type MatrixRank } from "./arrange";

function rank(index: number, more: Partial<MatrixRank> = {}): MatrixRank {
  return { worker: `rank${index}`, rank: index, value: index, isOutlier: false, ...more };
}

/** pp=2, dp=2, tp=4: the tensor dimension changes from rank to rank. */
const MESH = Array.from({ length: 16 }, (_, index) =>
  rank(index, { node: `n${Math.floor(index / 8)}`, coordinates: { pipeline: Math.floor(index / 8), data: Math.floor(index / 4) % 2, context: null, tensor: index % 4 } }),
);

describe("arrangements", () => {
  it("put outer dimensions into rows and inner ones into columns", () => {
    const [strategy] = arrangements(MESH);
    expect(strategy?.id).toBe("strategy");
    expect(strategy?.rows).toEqual({ title: "pipeline × data", labels: ["PP 0 · DP 0", "PP 0 · DP 1", "PP 1 · DP 0", "PP 1 · DP 1"] });
    expect(strategy?.columns).toEqual({ title: "tensor", labels: ["TP 0", "TP 1", "TP 2", "TP 3"] });
    expect([...(strategy?.cells ?? [])]).toEqual([...MESH.keys()]);
  });

  it("put a dimension that is too wide for a window into rows", () => {
    const wide = Array.from({ length: 1024 }, (_, index) => rank(index, { coordinates: { pipeline: Math.floor(index / 512), data: index % 512 } }));
    const [strategy] = arrangements(wide);
    expect([strategy?.rows.title, strategy?.columns.title]).toEqual(["data", "pipeline"]);
    expect([...(strategy?.cells.slice(0, 4) ?? [])]).toEqual([0, 512, 1, 513]);
  });

  it("have a row per node where there are several", () => {
    const node = arrangements(MESH).find(({ id }) => id === "node");
    expect(node?.rows.labels).toEqual(["n0", "n1"]);
    expect([...(node?.cells ?? [])]).toEqual([...MESH.keys()]);
    expect(arrangements(MESH.slice(0, 8)).map(({ id }) => id)).toEqual(["strategy", "order"]);
  });

  it("leave cells empty where ranks are not recorded", () => {
    const [strategy] = arrangements(MESH.filter((_, index) => index !== 5));
    expect(strategy?.cells[5]).toBe(-1);
    expect(strategy?.cells[6]).toBe(5);
  });

  it("need coordinates that distinguish all ranks", () => {
    const same = MESH.map((each) => ({ ...each, coordinates: { pipeline: 0, tensor: 1 } }));
    expect(arrangements(same).map(({ id }) => id)).toEqual(["node", "order"]);
    expect(arrangements([rank(0), rank(1)]).map(({ id }) => id)).toEqual(["order"]);
  });

  it("put few ranks in order into one row, many into rows of whole nodes", () => {
    expect(arrangements([rank(0), rank(1), rank(2)])[0]?.columns.labels).toHaveLength(3);
    const [many] = arrangements(Array.from({ length: 8192 }, (_, index) => rank(index)));
    expect([many?.rows.labels.length, many?.columns.labels.length]).toEqual([64, 128]);
    expect(many?.rows.labels[1]).toBe("128");
  });
});

describe("panels", () => {
  it.each([
    [4, 4, 800],
    [64, 128, 900],
    [1024, 8, 900],
    [8192, 1, 900],
    [1, 8, 300],
    [512, 16, 300],
  ])("show every row of %i × %i in %i px", (rows, columns, widthPx) => {
    const { count, rowsOfEach, cellPx } = panels(rows, columns, widthPx);
    expect(count * rowsOfEach).toBeGreaterThanOrEqual(rows);
    expect((count - 1) * rowsOfEach).toBeLessThan(rows);
    expect(cellPx).toBeGreaterThanOrEqual(3);
    if (cellPx > 3) expect((count * (columns + 1) - 1) * cellPx).toBeLessThanOrEqual(widthPx);
  });

  it("are one where that is high enough", () => {
    expect(panels(4, 4, 800)).toEqual({ count: 1, rowsOfEach: 4, cellPx: 28 });
    expect(panels(1024, 8, 900).count).toBeGreaterThan(1);
  });
});
