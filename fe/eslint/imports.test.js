import { expect, test } from "vitest";

import { importPath, layerOf, resolveImport } from "./imports.js";

const FILES = new Set(["/src/api/hooks.ts", "/src/api/runs.ts", "/src/pages/index.ts", "/src/pages/Page.tsx"]);
const isFile = (name) => FILES.has(name);

test("an import means a source file, or a folder's index", () => {
  expect(resolveImport("/src/api/hooks.ts", "./runs", isFile)).toBe("/src/api/runs.ts");
  expect(resolveImport("/src/api/hooks.ts", "../pages/Page", isFile)).toBe("/src/pages/Page.tsx");
  expect(resolveImport("/src/api/hooks.ts", "../pages", isFile)).toBe("/src/pages/index.ts");
  expect(resolveImport("/src/api/hooks.ts", "./hooks.css", isFile)).toBeNull();
  expect(resolveImport("/src/api/hooks.ts", "react", isFile)).toBeNull();
});

test("the shortest way of imports, where there is one", () => {
  const imports = new Map([
    ["a", ["b"]],
    ["b", ["c", "d"]],
    ["c", ["d"]],
    ["d", ["a"]],
    ["e", ["a"]],
  ]);
  expect(importPath(imports, "b", "a")).toEqual(["b", "d", "a"]);
  expect(importPath(imports, "a", "e")).toBeNull();
  expect(importPath(imports, "a", "a"), "a file that imports itself").toEqual(["a"]);
});

test("the layer of a file is its folder below the root", () => {
  expect(layerOf("/src/pages/memory/moment.ts", "/src")).toBe("pages");
  expect(layerOf("/src/index.ts", "/src")).toBeNull();
  expect(layerOf("/e2e/views.spec.ts", "/src")).toBeNull();
});
