import { expect, test } from "vitest";

import type { ViewInfo } from "../api/types";
import { railGroups } from "./railGroups";

const views = (...names: string[]) => names.map((name) => ({ name }) as unknown as ViewInfo);

test("every view stands once, whatever the order the server lists them in", () => {
  const given = views("kernels", "memory", "overview", "new_view", "timeline", "operators", "compare");
  const names = railGroups(given).flatMap((group) => group.views.map(({ name }) => name));
  expect([...names].sort()).toEqual(given.map(({ name }) => name).sort());
  expect(names[0]).toBe("overview");
});

test("what no group knows is under a heading of its own; headings without views are not there", () => {
  const groups = railGroups(views("overview", "new_view"));
  expect(groups.map(({ title }) => title)).toEqual([null, "More"]);
});
