import { expect, test } from "vitest";

import { kernelsOf } from "./SequencesPage";

test("names in their order, also the same twice", () => {
  expect(kernelsOf("void gemm<float> → add → add")).toEqual(["void gemm<float>", "add", "add"]);
  expect(kernelsOf("")).toEqual([]);
});
