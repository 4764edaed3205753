/** Roles of a job: rollout and training in folders of their own are one run, with a lane per rank that keys read. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { contrastFaults, faults } from "./audit";
import { expect, test } from "./fixtures";
import { python, serve } from "./servers";
import { card } from "./tables";

/** Two ranks generate for 600 and 500 ms; then one trains for 400 ms. */
const SCRIPT = `
import json, pathlib, sys
def write(name, rank, start, end, mark):
    host = {"ph": "X", "cat": "user_annotation", "name": mark, "pid": 1, "tid": 1, "ts": start, "dur": 600000, "args": {}}
    loop = {**host, "cat": "cpu_op", "name": "loop", "tid": 2, "ts": 0, "dur": 1000000}
    kernel = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": start, "dur": end - start, "args": {"device": 0, "stream": 7}}
    file = pathlib.Path(sys.argv[1], "job", name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": 2}, "baseTimeNanoseconds": 1795226204000000000, "traceEvents": [loop, host, kernel]}))
write("rollout/rank0.json", 0, 0, 600000, "generate_sequences")
write("rollout/rank1.json", 1, 0, 500000, "generate_sequences")
write("train/rank0.json", 0, 600000, 1000000, "update_actor")
`;

test("a lane per rank shows who works when; arrow keys read it", async ({ guarded: page }) => {
  const folder = mkdtempSync(join(tmpdir(), "profiler-roles-"));
  python(SCRIPT, folder);
  const server = await serve(folder);
  try {
    await page.goto(`${server.url}#view=roles&run=job`);
    await expect(page.getByText("Training works in 88.9 % of that.")).toBeVisible();
    const lanes = card(page, "Who works when, by rank");
    await expect(lanes.getByRole("listitem")).toHaveText(["Rollout", "Training"]);
    await lanes.getByRole("application").focus();
    await page.keyboard.press("ArrowRight");
    await expect(lanes.locator(".role-readout")).toHaveText(/^rollout-rank0, 0 µs to [\d.]+ ms: Rollout, 100\.0 % busy$/);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await expect(lanes.locator(".role-readout")).toHaveText(/^train-rank0, 0 µs to [\d.]+ ms: Training, 0(\.0)? % busy$/);
    await expect(card(page, "Ends of generations").getByRole("row")).toHaveCount(2);
    expect(await faults(page)).toEqual([]);
    expect(await contrastFaults(page)).toEqual([]);
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
