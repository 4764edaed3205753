import { expect, test } from "vitest";

import { operatorsOf, sliceNameOf } from "./groupLinks";

test("operators of a module are those with its path", () => {
  expect(operatorsOf("modules", "Net_0/Linear#5", "Linear", false)).toEqual({ groupBy: "path", filter: "name~/Net_0/Linear/" });
  expect(operatorsOf("modules", "…17/Linear_5", "Linear_5", false)).toBeNull();
});

test("of a range, a frame, and work outside", () => {
  expect(operatorsOf("ranges", "a/b", "b", false)?.filter).toBe("name~/b/");
  expect(operatorsOf("call_stacks", "f;g", "g", false)).toEqual({ groupBy: "name+call_stack", filter: "call_stack~g" });
  expect(operatorsOf("modules", "unassociated_aten::add", "unassociated_aten::add", true)).toEqual({ groupBy: "name", filter: "name=aten::add" });
});

test("slices of a group have its name", () => {
  expect(sliceNameOf("modules", "Linear_5", false)).toBe("nn.Module: Linear_5");
  expect(sliceNameOf("ranges", "load", false)).toBe("load");
  expect(sliceNameOf("modules", "unassociated_aten::add", true)).toBe("aten::add");
  expect(sliceNameOf("modules", "unassociated_others", true)).toBeNull();
});
