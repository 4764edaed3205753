import { expect, it } from "vitest";

import { colorVariable, colorVariables } from "./palette";

it("categories shown together have different colours", () => {
  const sets = [
    ["Computation", "Overlap", "Communication", "Other"],
    ["Transfer", "Wait", "Other"],
    ["Interval", "Forward and Backward", "Tail", "Communication"],
    ["Computing", "Communication Exposed", "Free"],
    ["Computation", "Exposed Communication", "Idle"],
  ];
  for (const names of sets) expect(new Set(names.map((name) => colorVariable(name))).size, names.join()).toBe(names.length);
});

it("the communication that nothing hides has one colour, whatever a view calls it", () => {
  const names = ["Communication", "Communication Exposed", "Exposed Communication"];
  expect(new Set(names.map((name) => colorVariable(name)))).toEqual(new Set(["--cat-communication"]));
});

it("gives each line of a chart its own colour", () => {
  const colors = colorVariables(["CPU", "CPU system", "CPU user", "threads"]);
  expect(colors[0]).toBe("--cat-cpu-exec");
  expect(new Set(colors).size).toBe(4);
  expect(colorVariables(["a", "b"])).toEqual([colorVariable("a", 0), colorVariable("b", 1)]);
});
