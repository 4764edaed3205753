/** The tab Strategy: the matrix of ranks by keyboard and click, the pipeline, a strategy that is given. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { faults } from "./audit";
import { expect, test } from "./fixtures";
import { serve } from "./servers";
import { card } from "./tables";

const STAGES = [0, 1];
const MICROBATCHES = [0, 1, 2];

/** One rank of a job with two stages and two ranks of tensor parallelism; the last stage computes half as long again. */
function rankOfJob(rank: number): string {
  const stage = Math.floor(rank / 2);
  const tensor = [stage * 2, stage * 2 + 1];
  const pipeline = STAGES.map((each) => each * 2 + (rank % 2));
  const groups = [
    { pg_name: `1${stage}`, pg_desc: "mesh_tp", pg_size: 2, ranks: tensor },
    { pg_name: `2${rank % 2}`, pg_desc: "mesh_pp", pg_size: 2, ranks: pipeline },
  ];
  const length = stage === 1 ? 150 : 100;
  const slice = (cat: string, name: string, ts: number, dur: number, tid: number, args = {}) => ({ ph: "X", cat, name, pid: 1, tid, ts, dur, args });
  const passes = ["F", "B"].flatMap((kind, half) =>
    MICROBATCHES.flatMap((each) => {
      const number = 3 * half + each;
      const correlation = 10 * rank + number + 1;
      const at = 1000 + 200 * (number + stage);
      return [
        slice("user_annotation", `PP:${stage}${kind}${each}`, 100 + number * 10, 8, 1),
        slice("cuda_runtime", "cudaLaunchKernel", 102 + number * 10, 2, 1, { correlation }),
        { ...slice("kernel", "gemm", at, length, 7, { correlation, device: 0, stream: 7 }), pid: 0 },
      ];
    }),
  );
  const reduce = { "Collective name": "allreduce", dtype: "Float", "In msg nelems": 1024, "Out msg nelems": 1024, "Group size": 2, "Process Group Name": `1${stage}`, "Process Group Description": "mesh_tp", "Process Group Ranks": `[${tensor.join(", ")}]` };
  const events = [
    slice("user_annotation", "ProfilerStep#1", 0, 3000, 1),
    ...passes,
    slice("cuda_runtime", "cudaLaunchKernel", 200, 2, 1, { correlation: 99 }),
    { ...slice("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", 2700, 200, 20, { correlation: 99, device: 0, stream: 20, ...reduce }), pid: 0 },
  ];
  return JSON.stringify({ schemaVersion: 1, distributedInfo: { backend: "nccl", rank, world_size: 4, pg_config: groups }, traceEvents: events });
}

test("strategy: sentence, matrix, pipeline and a given strategy", async ({ guarded: page }) => {
  const folder = mkdtempSync(join(tmpdir(), "strategy-"));
  for (const rank of [0, 1, 2, 3]) writeFileSync(join(folder, `rank${rank}.pt.trace.json`), rankOfJob(rank));
  const server = await serve(folder);
  await page.goto(`${server.url}#view=strategy`);
  const main = page.getByRole("main");
  await expect(main).toContainText("2-way tensor × 2-stage pipeline (from names of groups).");
  await expect(card(page, "Dimensions")).toContainText("tensor");
  const pipeline = page.getByRole("figure", { name: "Pipeline", exact: true });
  await expect(pipeline.getByRole("button", { name: "Stage 1" })).toBeVisible();
  expect(await faults(page)).toEqual([]);
  const matrix = page.getByRole("figure", { name: "Ranks", exact: true });
  const cells = matrix.getByRole("application");
  await cells.focus();
  await page.keyboard.press("ArrowDown");
  await expect(matrix.getByRole("status")).toHaveText("Rank 2, PP 1 · TP 0: Computation 900 µs");
  await matrix.getByLabel("Measure").selectOption("exposed_communication");
  await expect(page).toHaveURL(/measure=exposed_communication/);
  await expect(matrix.locator(".matrix-legend")).toContainText("Exposed Communication");
  await main.getByLabel("Parallel strategy").fill("tp=3");
  await page.keyboard.press("Enter");
  await expect(main).toContainText("tp=3 = 3, not a divisor of the 4 ranks");
  await main.getByLabel("Parallel strategy").fill("cp=2,dp=2");
  await page.keyboard.press("Enter");
  await expect(main).toContainText("2-way context × 2 data replicas (as given).");
  await main.getByRole("button", { name: "Recognize it" }).click();
  await expect(main).toContainText("from names of groups");
  await cells.click({ position: { x: 5, y: 5 } });
  await expect(page).toHaveURL(/view=overview.*worker=rank0|worker=rank0.*view=overview/);
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});
