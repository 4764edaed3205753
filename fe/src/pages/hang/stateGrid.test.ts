import { expect, test } from "vitest";

import type { Table } from "../../api/types";
import { ranksIn, ranksText, stateGrid } from "./stateGrid";

const KEYS = ["group", "sequence", "is_hang", "state", "operation", "input_sizes", "types", "ranks"];

function tableOf(rows: unknown[][]): Table {
  return { columns: KEYS.map((key) => ({ key })), rows } as unknown as Table;
}

test("ranks that stand alike in all collectives share a line, and a call unlike the others is marked", () => {
  const grid = stateGrid(
    tableOf([
      ["dp", 3, false, "completed", "nccl:all_reduce", "[[4]]", "Float", "0-3"],
      ["dp", 4, true, "scheduled", "nccl:all_reduce", "[[4]]", "Float", "0, 2"],
      ["dp", 4, true, "scheduled", "nccl:all_gather", "[[4]]", "Float", "1"],
      ["dp", 4, true, "not entered", null, null, null, "3"],
      ["tp", 9, true, "started", "nccl:all_reduce", "[[4]]", "Float", "0"],
    ]),
    "dp",
  );
  expect(grid.sequences).toEqual([3, 4]);
  expect(grid.hang).toBe(1);
  expect(grid.lines.map(({ ranks, cells }) => [ranks, cells[1]?.state, cells[1]?.isOther])).toEqual([
    [[0, 2], "scheduled", false],
    [[1], "scheduled", true],
    [[3], "not entered", false],
  ]);
});

test("ranks as text and back", () => {
  expect(ranksIn("0-3, 7, 9-10")).toEqual([0, 1, 2, 3, 7, 9, 10]);
  expect(ranksText([0, 1, 2, 3, 7, 9, 10])).toBe("0-3, 7, 9-10");
  expect(ranksText([0, 2, 4, 6], 2)).toBe("0, 2 … (4 ranks)");
});
