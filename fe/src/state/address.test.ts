import { describe, expect, it } from "vitest";

import { formatFragment, isActiveTab, mergeHostFragment, parseFragment, parseHostFragment } from "./address";

const HOSTILE = { run: "a&b=c#d %41", "operators.filter": "name~<img>;calls>=10", empty: "" };

describe("the page's own fragment", () => {
  it("survives writing and reading", () => {
    expect(parseFragment(`#${formatFragment(HOSTILE)}`)).toEqual(HOSTILE);
  });

  it("stays readable", () => {
    expect(formatFragment({ steps: "5:8,10" })).toBe("steps=5:8,10");
  });

  it("accepts a truncated link", () => {
    expect(parseFragment("#run=a%E2%8&view")).toEqual({ run: "a%E2%8" });
  });
});

describe("TensorBoard's fragment", () => {
  const other = "#pytorch_profiler&p.other.x=1&_smoothingWeight=0.5";

  it("retains the parts of other plugins", () => {
    const merged = mergeHostFragment(`${other}&p.pytorch_profiler.run=old`, "pytorch_profiler", HOSTILE);
    expect(merged.startsWith(other)).toBe(true);
    expect(parseHostFragment(merged, "pytorch_profiler")).toEqual(HOSTILE);
    // TensorBoard splits at every "=": a value must not hold one.
    expect(merged.split("&").every((part) => part.split("=").length <= 2)).toBe(true);
  });

  it("writes nothing for empty parameters", () => {
    expect(mergeHostFragment("#pytorch_profiler", "pytorch_profiler", {})).toBe("#pytorch_profiler");
  });

  it("detects whether the plugin is shown", () => {
    expect(isActiveTab("#pytorch_profiler&p.a=1", "pytorch_profiler")).toBe(true);
    expect(isActiveTab("#timeseries", "pytorch_profiler")).toBe(false);
    expect(isActiveTab("", "pytorch_profiler")).toBe(false);
  });
});
