// @vitest-environment jsdom
import { expect, it } from "vitest";

import { tooltipElement } from "./tooltip";

it("never interprets a name as markup", () => {
  const hostile = '<img src=x onerror="alert(1)">';
  const box = tooltipElement([hostile], [{ color: "red", name: hostile, value: hostile }], hostile);
  expect(box.querySelector("img")).toBeNull();
  expect(box.textContent).toBe(hostile.repeat(4));
});

it("marks invisible characters, and shows full names below the title", () => {
  const box = tooltipElement(["a\u202eb", "full\u200b"], [], null);
  expect([...box.children].map((child) => [child.tagName, child.textContent])).toEqual([
    ["STRONG", "a⟨U+202E⟩b"],
    ["SMALL", "full⟨U+200B⟩"],
  ]);
});
