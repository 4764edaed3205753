/** A memory snapshot: its map by mouse and keyboard, and the stack of a block. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { contrastFaults, faults } from "./audit";
import { expect, test } from "./fixtures";
import { python, serve } from "./servers";
import { card } from "./tables";

const MIB = 1 << 20;

/** One segment of 20 MiB with a block in use and a free one, and its history. */
const SCRIPT = `
import pickle, sys
frames = [{"name": "forward", "filename": "/app/model.py", "line": 13}]
used = {"address": 4096, "size": 12 * ${MIB}, "requested_size": 12 * ${MIB}, "state": "active_allocated", "frames": frames}
free = {"address": 4096 + 12 * ${MIB}, "size": 8 * ${MIB}, "requested_size": 0, "state": "inactive", "frames": []}
segment = {"device": 0, "address": 4096, "total_size": 20 * ${MIB}, "allocated_size": 12 * ${MIB}, "active_size": 12 * ${MIB},
           "requested_size": 12 * ${MIB}, "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False,
           "frames": frames, "blocks": [used, free]}
trace = [{"action": "segment_alloc", "addr": 4096, "size": 20 * ${MIB}, "stream": 0, "frames": frames, "time_us": 1000},
         {"action": "alloc", "addr": 4096, "size": 12 * ${MIB}, "stream": 0, "frames": frames, "time_us": 2000},
         {"action": "oom", "addr": 0, "size": 99 * ${MIB}, "device_free": 8 * ${MIB}, "stream": 0, "frames": frames, "time_us": 3000}]
with open(sys.argv[1], "wb") as file:
    pickle.dump({"segments": [segment], "device_traces": [trace], "allocator_settings": {}}, file)
`;

test("blocks of the map are chosen by mouse and keyboard and show their call stack", async ({ guarded: page }) => {
  const folder = mkdtempSync(join(tmpdir(), "profiler-snapshot-"));
  python(SCRIPT, join(folder, "made.pickle"));
  const server = await serve(folder);
  try {
    await page.goto(`${server.url}#view=snapshot`);
    const map = card(page, "Memory map");
    await map.getByRole("button", { name: "12.0 MiB at 0 B, in use" }).click();
    await expect(map.getByRole("status")).toContainText("/app/model.py");
    await page.keyboard.press("ArrowRight");
    await expect(map.getByRole("button", { name: "8.00 MiB at 12.0 MiB, free" })).toBeFocused();
    await expect(map.getByRole("status")).toContainText("has no call stack for it");
    expect([...(await faults(page)), ...(await contrastFaults(page))]).toEqual([]);
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
