import { expect, test } from "vitest";

import type { ViewInfo } from "../api/types";
import { railGroups } from "./railGroups";

const views = (...names: string[]) => names.map((name) => ({ name }) as unknown as ViewInfo);

test("every view is listed once, in whatever order the server lists them", () => {
  const given = views("kernels", "memory", "overview", "new_view", "timeline", "operators", "compare");
  const names = railGroups(given).flatMap((group) => group.views.map(({ name }) => name));
  expect([...names].sort()).toEqual(given.map(({ name }) => name).sort());
  expect(names[0]).toBe("overview");
});

test("views without a group have a separate heading; headings without views are omitted", () => {
  const groups = railGroups(views("overview", "new_view"));
  expect(groups.map(({ title }) => title)).toEqual([null, "More"]);
});
