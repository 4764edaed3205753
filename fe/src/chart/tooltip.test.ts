// @vitest-environment jsdom
import { expect, it } from "vitest";

import { tooltipElement } from "./tooltip";

it("never makes markup of a name", () => {
  const hostile = '<img src=x onerror="alert(1)">';
  const box = tooltipElement(hostile, [{ color: "red", name: hostile, value: hostile }], hostile);
  expect(box.querySelector("img")).toBeNull();
  expect(box.textContent).toBe(hostile.repeat(4));
});
