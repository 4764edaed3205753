import { describe, expect, it } from "vitest";

import type { SlicePayload } from "../generated/schema";
import { argumentsOf, argumentText, argumentTitle, momentsOf, rowsOf, timesOf, timeTexts } from "./sliceFacts";

function detail(changed: Partial<SlicePayload>): SlicePayload {
  const nothing = { depth: null, lane: 0, external_id: null, track: null, raw_category: null, self_us: null, device_self_us: null, device_total_us: null, no_device_time: null, step: null, correlation: null, short_name: null, demangled_name: null };
  return { id: 1, name: "aten::add", category: "operator", start_us: 0, dur_us: 7, args: {}, call_stack: [], links: {} as SlicePayload["links"], ...nothing, ...changed };
}

describe("times", () => {
  it("on a device are unknown where none was recorded", () => {
    expect(timesOf(detail({ self_us: 5, no_device_time: "No device work." }))).toEqual([
      { title: "Duration", us: 7, help: "7 µs" },
      { title: "Self", us: 5, help: "5 µs" },
      { title: "Device total", us: null, help: "No device work." },
      { title: "Device self", us: null, help: "No device work." },
    ]);
  });

  it("on a device are 0 where the operator launched nothing", () => {
    const operator = detail({ self_us: 5, device_total_us: 0, device_self_us: 0 });
    expect(timesOf(operator).map(({ us }) => us)).toEqual([7, 5, 0, 0]);
  });

  it("that do not apply are left out", () => {
    expect(timesOf(detail({})).map(({ title }) => title)).toEqual(["Duration"]);
  });

  it("include how long a kernel waited", () => {
    const kernel = detail({ args: { launch_delay_ns: 12_500, stream: 7 } });
    expect(timesOf(kernel)).toContainEqual({ title: "Launch delay", us: 12.5, help: "12.5 µs" });
    expect(argumentsOf(kernel)).toEqual([{ key: "stream", title: "Stream", text: "7" }]);
  });
});

describe("times in one panel", () => {
  it("have one unit", () => {
    expect(timeTexts(timesOf(detail({ dur_us: 2500, self_us: 4, no_device_time: "No device work." })))).toEqual(["2.50 ms", "0.004 ms", "–", "–"]);
  });
});

describe("start and end", () => {
  it("are counted from the first slice, in whole ns, and shown on the clock of the trace too", () => {
    const late = detail({ start_us: 1_000_012.345, dur_us: 0.5 });
    expect(momentsOf(late, 1_000_000)).toEqual([
      { title: "Start", text: "12.345 µs", help: "1\u202f000\u202f012.345 µs on the clock of the trace" },
      { title: "End", text: "12.845 µs", help: "1\u202f000\u202f012.845 µs on the clock of the trace" },
    ]);
  });
});

describe("where a slice lies", () => {
  const track = { track: 0, pid: "77", tid: "5", process_name: "python", process_label: "CPU", thread_name: "main", is_device: false, device: null, stream: null, sort_index: 0 };

  it("is a thread of a process", () => {
    expect(rowsOf(detail({ track }))).toEqual([
      ["Thread", "main (5)"],
      ["Process", "python (77)"],
    ]);
  });

  it("is a stream of a device", () => {
    const stream = { ...track, pid: "0", tid: "7", process_label: "GPU 0", thread_name: null, is_device: true, device: 0, stream: 7 };
    expect(rowsOf(detail({ track: stream }))).toEqual([
      ["Device", "GPU 0"],
      ["Stream", "7"],
      ["Process", "python (0)"],
    ]);
  });

  it("is not repeated among the arguments", () => {
    const stream = { ...track, is_device: true, device: 0, stream: 7 };
    expect(argumentsOf(detail({ track: stream, args: { device: 0, stream: 8 } })).map(({ key }) => key)).toEqual(["stream"]);
  });

  it("may be unknown", () => {
    expect(rowsOf(detail({}))).toEqual([]);
  });
});

describe("arguments", () => {
  const args = { call_stack: "a.py(3): f" };

  it("leave out the call stack that is shown with links", () => {
    expect(argumentsOf(detail({ args, call_stack: [{ text: "a.py(3): f", file: null, line: null, function: "", jumpable: false }] }))).toEqual([]);
  });

  it("include one that could not be parsed", () => {
    expect(argumentsOf(detail({ args })).map(({ text }) => text)).toEqual(["a.py(3): f"]);
  });

  it.each([
    ["est_achieved_occupancy_pct", 3, "Est. achieved occupancy", "3.0 %"],
    ["shared_memory_bytes", 2048, "Shared memory", "2.00 KiB"],
    ["blocks_per_sm", 6.4, "Blocks per SM", "6.40"],
    ["warps_per_sm", 0.000390625, "Warps per SM", "0.0004"],
    ["warps_per_sm", 0, "Warps per SM", "0"],
    ["orphan_reason", "no_launch", "No operator", "its launch is not in the file"],
  ])("%s = %s", (key, value, title, text) => {
    expect([argumentTitle(key), argumentText(key, value)]).toEqual([title, text]);
  });
});
