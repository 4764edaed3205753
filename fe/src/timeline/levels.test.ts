import { expect, test } from "vitest";

import { formatLevels, parseLevels } from "./levels";

test("levels have the server's format in the address", () => {
  expect(parseLevels("modules:3,scopes:2")).toEqual({ modules: 3, ranges: 0, scopes: 2 });
  expect(formatLevels({ modules: 3, ranges: 2, scopes: 0 })).toBe("modules:3,ranges:2");
  expect(formatLevels({ modules: 0, ranges: 1, scopes: 4 })).toBe("ranges:1,scopes:4");
  expect(formatLevels({ modules: 0, ranges: 0, scopes: 0 })).toBeNull();
});

test("invalid levels are ignored", () => {
  expect(parseLevels("frames:3,modules:x,ranges:9")).toEqual({ modules: 0, ranges: 8, scopes: 0 });
  expect(parseLevels(undefined)).toEqual({ modules: 0, ranges: 0, scopes: 0 });
});
