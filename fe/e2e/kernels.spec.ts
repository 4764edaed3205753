/** Kernels: the calls that launched them, and copies, also of a recording without kernels. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test } from "./fixtures";
import { serve } from "./servers";
import { card, drawnChart } from "./tables";

test("API calls and copies are listed below the kernels", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=h100_bert_small&view=kernels`);
  await expect(await drawnChart(page, "Top 10 kernels")).toBeVisible();
  await expect(card(page, "API calls")).toContainText("cudaLaunchKernelExC");
  await expect(card(page, "Copies and memsets")).toContainText("cudaMemcpyAsync");
});

test("the time of a kernel is visible in every grouping at 1440 px", async ({ guarded: page, standalone }) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  for (const grouping of ["name", "name+operator+launch"]) {
    await page.goto(`${standalone.url}#run=kineto_resnet50_nw0&view=kernels&group_by=${encodeURIComponent(grouping)}`);
    for (const title of ["Total", "Share", "Mean"]) {
      const header = card(page, "Kernels").getByRole("columnheader", { name: new RegExp(`^${title}`) }).first();
      await expect(header).toBeInViewport({ ratio: 1 });
    }
  }
});

test("a recording of copies without kernels shows them", async ({ guarded: page }) => {
  const folder = mkdtempSync(join(tmpdir(), "copies-"));
  const copy = (ts: number, correlation: number) => [
    { ph: "X", cat: "cuda_runtime", name: "cudaMemcpyAsync", pid: 1, tid: 1, ts, dur: 5, args: { correlation } },
    {
      ph: "X",
      cat: "gpu_memcpy",
      name: "Memcpy HtoD (Pageable -> Device)",
      pid: 0,
      tid: 7,
      ts: ts + 10,
      dur: 20,
      args: { device: 0, stream: 7, correlation, bytes: 1000 },
    },
  ];
  const operator = { ph: "X", cat: "cpu_op", name: "aten::copy_", pid: 1, tid: 1, ts: 0, dur: 300, args: {} };
  const trace = { schemaVersion: 1, traceEvents: [operator, ...copy(10, 1), ...copy(100, 2)] };
  writeFileSync(join(folder, "a.pt.trace.json"), JSON.stringify(trace));
  const server = await serve(folder);
  try {
    await page.goto(`${server.url}#view=kernels`);
    await expect(page.getByRole("alert")).toContainText("No kernel in this trace");
    await expect(card(page, "Copies and memsets")).toContainText("pageable");
    await expect(card(page, "API calls")).toContainText("cudaMemcpyAsync");
  } finally {
    await server.stop();
  }
});
