import { expect, it } from "vitest";

import { stackedRecording, formatRecording, formatZeros, parseRecording, parseZeros, zeroNs } from "./secondRecording";
import { stackOf, type StackedWorker } from "./stack";

it("a recording comes back from the address, whatever its name", () => {
  const recording = { run: "a:b,c %", worker: "w 0", span: "" };
  expect(parseRecording(formatRecording(recording))).toEqual(recording);
});

it.each([undefined, "", "run", "a:b", "::", "%E0:w:s", "a:b:c:d"])("no recording: %s", (text) => expect(parseRecording(text)).toBeNull());

it("zeros are steps or the first event", () => {
  expect(parseZeros("5,first")).toEqual(["5", null]);
  expect(parseZeros("x")).toEqual([null, null]);
  expect(formatZeros([null, "7"])).toBe("first,7");
  expect(formatZeros([null, null])).toBeNull();
  expect(zeroNs(null, null)).toBe(0);
  expect(zeroNs("3", { schema_version: 1, steps: null, ranges: [] })).toBeUndefined();
  expect(zeroNs("3", { schema_version: 1, steps: null, ranges: [{ start_ns: 40, end_ns: 50 }] })).toBe(40);
});

it("both zeros are one moment on screen, whatever the clocks of the recordings say", () => {
  const tracks = (origin_us: number, end_ns: number) => ({ schema_version: 1, trace: { run: "r", worker: "w", span: "1" }, end_ns, origin_us, slices: 0, overlapping: 0, tracks_left_out: 0, categories: [], groups: [], tracks: [] });
  const own: StackedWorker = { worker: "w", query: {}, tracks: tracks(1000, 100), offsetNs: 0, collectives: 0 };
  const other = stackedRecording({ run: "r2", worker: "w", span: "" }, {}, tracks(9e9, 500), ["1", "2"], [30, 70]);
  const stack = stackOf(own, [other]);
  const [first, second] = stack.parts;
  expect((second?.shiftNs ?? 0) + 70).toBe(first.shiftNs + 30);
  expect(stack.parts.map(({ shiftNs }) => shiftNs)).toEqual([40, 0]);
  expect(stack.endNs).toBe(500);
  expect(stack.groups[2]?.note).toMatchObject({ text: "own zero", warns: false });
});
