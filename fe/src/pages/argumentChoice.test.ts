import { expect, it } from "vitest";

import type { ArgumentPayload } from "../generated/schema";
import { describeArgument, joinNames, listedArguments } from "./argumentChoice";

const queued: ArgumentPayload = { name: "Queued", count: 200, numbers: 200, example: "0.5", categories: { kernel: 150, gpu_memcpy: 50 }, in_model: false, is_read: false };
const stream: ArgumentPayload = { ...queued, name: "stream", in_model: true };
const read: ArgumentPayload = { ...stream, name: "device", is_read: true };

it("names with commas are one name each", () => {
  expect(joinNames(["a,b", "c"])).toBe("a\\,b,c");
  expect(joinNames([])).toBe("");
});

it("arguments that have columns anyway are listed on request, or where they are read", () => {
  const all = [queued, stream, read];
  expect(listedArguments(all, "", false)).toEqual([queued, read]);
  expect(listedArguments(all, "", true)).toEqual(all);
  expect(listedArguments(all, " QUE ", true)).toEqual([queued]);
});

it("an argument says how often and where it occurs", () => {
  expect(describeArgument(queued)).toBe("200 events (kernel, gpu_memcpy), such as 0.5");
  const many = { a: 1, b: 2, c: 3, d: 4 };
  expect(describeArgument({ ...queued, count: 1, example: null, categories: many })).toBe("1 event (d, c, b and others)");
  expect(describeArgument({ ...queued, categories: {} })).toBe("200 events, such as 0.5");
});
