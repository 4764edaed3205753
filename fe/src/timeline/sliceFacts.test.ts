import { describe, expect, it } from "vitest";

import type { SlicePayload } from "../generated/schema";
import { argumentsOf, argumentText, argumentTitle, timesOf } from "./sliceFacts";

function detail(changed: Partial<SlicePayload>): SlicePayload {
  const nothing = { depth: null, lane: 0, external_id: null, track: null, raw_category: null, self_us: null, device_self_us: null, device_total_us: null, no_device_time: null, step: null, correlation: null, short_name: null, demangled_name: null };
  return { id: 1, name: "aten::add", category: "operator", start_us: 0, dur_us: 7, args: {}, call_stack: [], links: {} as SlicePayload["links"], ...nothing, ...changed };
}

describe("times", () => {
  it("on a device are unknown where nothing tells of one", () => {
    expect(timesOf(detail({ self_us: 5, no_device_time: "No device work." }))).toEqual([
      { title: "Duration", us: 7, help: "7 µs" },
      { title: "Self", us: 5, help: "5 µs" },
      { title: "Device total", us: null, help: "No device work." },
      { title: "Device self", us: null, help: "No device work." },
    ]);
  });

  it("on a device are 0 where the operator started nothing", () => {
    const operator = detail({ self_us: 5, device_total_us: 0, device_self_us: 0 });
    expect(timesOf(operator).map(({ us }) => us)).toEqual([7, 5, 0, 0]);
  });

  it("that do not apply are left out", () => {
    expect(timesOf(detail({})).map(({ title }) => title)).toEqual(["Duration"]);
  });

  it("tell how long a kernel waited", () => {
    const kernel = detail({ args: { launch_delay_ns: 12_500, stream: 7 } });
    expect(timesOf(kernel)).toContainEqual({ title: "Launch delay", us: 12.5, help: "12.5 µs" });
    expect(argumentsOf(kernel)).toEqual([{ key: "stream", title: "Stream", text: "7" }]);
  });
});

describe("arguments", () => {
  const args = { call_stack: "a.py(3): f" };

  it("leave out the call stack that is shown with links", () => {
    expect(argumentsOf(detail({ args, call_stack: [{ text: "a.py(3): f", file: null, line: null, function: "", jumpable: false }] }))).toEqual([]);
  });

  it("keep one that could not be taken apart", () => {
    expect(argumentsOf(detail({ args })).map(({ text }) => text)).toEqual(["a.py(3): f"]);
  });

  it.each([
    ["est_achieved_occupancy_pct", 3, "Est. achieved occupancy", "3.0 %"],
    ["shared_memory_bytes", 2048, "Shared memory", "2.000 KiB"],
    ["blocks_per_sm", 6.4, "Blocks per SM", "6.40"],
    ["warps_per_sm", 0.000390625, "Warps per SM", "0.0004"],
    ["warps_per_sm", 0, "Warps per SM", "0"],
    ["orphan_reason", "no_launch", "No operator", "its launch is not in the file"],
  ])("%s = %s", (key, value, title, text) => {
    expect([argumentTitle(key), argumentText(key, value)]).toEqual([title, text]);
  });
});
