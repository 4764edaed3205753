import { expect, it } from "vitest";

import { barsByKind } from "./rows";

it("gives every bar the line of its kind", () => {
  const top = [["a"], ["b"], ["c"]].map((row, index) => ({ row, value: index + 1 }));
  expect(barsByKind(top, (row) => (row[0] === "b" ? "Communication" : "Kernel"))).toEqual([
    { name: "Kernel", values: [1, 0, 3] },
    { name: "Communication", values: [0, 2, 0] },
  ]);
});
