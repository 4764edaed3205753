import { describe, expect, it } from "vitest";

import type { TimelineArrayType, TimelineHead } from "../generated/schema";
import { decodeScreen } from "./decode";
import { NO_NAME } from "./tile";

const BYTES: Readonly<Record<TimelineArrayType, number>> = { uint8: 1, uint16: 2, uint32: 4, int32: 4, float32: 4, float64: 8 };

/** A body as docs/internals.md, "Timeline", describes it, written byte by byte. */
function bodyOf(head: Partial<TimelineHead>, arrays: Readonly<Record<string, readonly [TimelineArrayType, readonly number[]]>>): ArrayBuffer {
  const sizes = Object.values(arrays).map(([dtype, values]) => Math.ceil((BYTES[dtype] * values.length) / 8) * 8);
  const headBytes = 4092;
  const body = new ArrayBuffer(4 + headBytes + sizes.reduce((sum, size) => sum + size, 0));
  const view = new DataView(body);
  const descriptors: TimelineHead["arrays"] = {};
  let offset = 4 + headBytes;
  for (const [index, [name, [dtype, values]]] of Object.entries(arrays).entries()) {
    descriptors[name] = { dtype, offset, length: values.length };
    values.forEach((value, row) => write(view, dtype, offset + row * BYTES[dtype], value));
    offset += sizes[index] ?? 0;
  }
  const full = { schema_version: 1, start_ns: 0, end_ns: 100, pixel_ns: 1, bucket_ns: 1, counter_bucket_ns: 1, coarse: false, lanes_left_out: 0, names: [], ...head, arrays: descriptors };
  view.setUint32(0, headBytes, true);
  new Uint8Array(body, 4, headBytes).set(new TextEncoder().encode(JSON.stringify(full).padEnd(headBytes)));
  return body;
}

function write(view: DataView, dtype: TimelineArrayType, at: number, value: number): void {
  if (dtype === "uint8") view.setUint8(at, value);
  else if (dtype === "uint16") view.setUint16(at, value, true);
  else if (dtype === "uint32") view.setUint32(at, value, true);
  else if (dtype === "int32") view.setInt32(at, value, true);
  else if (dtype === "float32") view.setFloat32(at, value, true);
  else view.setFloat64(at, value, true);
}

describe("the binary answer", () => {
  const screen = decodeScreen(
    bodyOf(
      { start_ns: 1000, bucket_ns: 64, counter_bucket_ns: 128, names: ["gemm", null] },
      {
        lane_track: ["uint8", [3, 3, 7]],
        lane_row: ["uint8", [0, 1, 0]],
        lane_bucket_ns: ["uint32", [64, 256, 64]],
        lane_slices: ["uint8", [0, 1, 1, 2]],
        lane_merged: ["uint8", [0, 0, 2, 2]],
        slice_start_ns: ["int32", [-50, 500]],
        slice_dur_ns: ["float64", [200, 1]],
        slice_name: ["uint8", [0, 1]],
        slice_id: ["uint32", [17, 18]],
        slice_category: ["uint8", [9, 0]],
        merged_bucket: ["uint16", [0, 2]],
        merged_count: ["uint32", [5, 70000]],
        merged_busy: ["uint16", [16384, 40000]],
        merged_category: ["uint8", [0, 8]],
        slice_name_codes: ["uint32", [400, 401]],
        counter_track: ["uint8", [9]],
        counter_points: ["uint8", [0, 2]],
        point_bucket: ["uint8", [0, 3]],
        point_min: ["float32", [1, 2]],
        point_max: ["float32", [4, 2]],
        point_last: ["float32", [3, NaN]],
      },
    ),
  );

  it("gives every track its slices, exact and from the origin", () => {
    const boxes = screen.parts.get(7)?.boxes;
    expect(boxes?.count).toBe(1);
    expect(boxes?.startNs[0]).toBe(1500);
    expect(boxes?.endNs[0]).toBe(1501);
    expect(boxes?.id[0]).toBe(18);
    const first = screen.parts.get(3)?.boxes;
    expect([first?.startNs[0], first?.endNs[0], first?.lane[0], first?.category[0], first?.slices[0]]).toEqual([950, 1150, 0, 9, 1]);
  });

  it("puts merged blocks on the grid of their lane", () => {
    const boxes = screen.parts.get(3)?.boxes;
    // floor(1000 / 256) × 256 = 768, two buckets on 1280.
    expect([boxes?.startNs[1], boxes?.endNs[1], boxes?.slices[1], boxes?.busy[1]]).toEqual([768, 1024, 5, 0.5]);
    expect([boxes?.startNs[2], boxes?.slices[2], boxes?.lane[2]]).toEqual([1280, 70000, 1]);
    expect(boxes?.busy[2], "a last slice that reaches over the end fills the block").toBe(1);
    expect(boxes?.name[1]).toBe(NO_NAME);
  });

  it("reads counters with unknown values", () => {
    const stairs = screen.parts.get(9)?.stairs;
    expect([...(stairs?.timeNs ?? [])]).toEqual([896, 1280]);
    expect(stairs?.last[0]).toBe(3);
    expect(stairs?.last[1]).toBeNaN();
    expect(screen.parts.get(9)?.boxes.count).toBe(0);
  });

  it("loses nothing: slices and merged counts add up", () => {
    let total = 0;
    for (const { boxes } of screen.parts.values()) total += boxes.slices.reduce((sum, count) => sum + count, 0);
    expect(total).toBe(2 + 5 + 70000);
  });

  it("throws when the body is truncated", () => {
    expect(() => decodeScreen(bodyOf({}, { lane_track: ["uint8", [1]] }).slice(0, 4096))).toThrow();
  });
});
