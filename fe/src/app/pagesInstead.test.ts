import { expect, test } from "vitest";

import type { ViewInfo } from "../api/types";
import { pagesInstead } from "./pagesInstead";

const VIEWS = [
  { name: "overview", available: false, scope: "trace" },
  { name: "operator_types", available: true, scope: "trace" },
  { name: "data", available: true, scope: "trace" },
  { name: "shapes", available: false, scope: "trace" },
  { name: "timeline", available: true, scope: "trace" },
  { name: "distributed", available: true, scope: "run" },
  { name: "compare", available: true, scope: "pair" },
] as unknown as ViewInfo[];

test("a page without data names those that show what the files hold", () => {
  expect(pagesInstead("overview", VIEWS).map(({ name }) => name)).toEqual(["operator_types", "data", "distributed"]);
  expect(pagesInstead("operators", VIEWS).map(({ name }) => name)).toEqual(["operator_types"]);
  expect(pagesInstead("kernels", VIEWS)).toEqual([]);
});
