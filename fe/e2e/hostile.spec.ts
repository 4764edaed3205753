/** Text of a trace is never markup: in no table, chart, tooltip, list or title of any view. */
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { expect, test } from "./fixtures";
import { serve } from "./servers";

const EVIL = '<img src=x onerror="window.__pwned=1"><script>window.__pwned=1</script>';
/** Names of folders and files cannot hold a slash. */
const EVIL_NAME = '<img src=x onerror="window.__pwned=1">';

interface TraceEvent {
  readonly [key: string]: unknown;
}

/** One step with an operator, its launch and kernel, memory, a module and a stack: every name hostile. */
function events(): TraceEvent[] {
  const host = { ph: "X", pid: 1, tid: 1 };
  const stack = `${EVIL}/a.py(3): ${EVIL};b.py(4): f`;
  const memory = { "Device Type": 1, "Device Id": 0, "Total Allocated": 4096, "Total Reserved": 8192 };
  return [0, 1].flatMap((step) => {
    const at = 1000 * step;
    return [
      { ...host, cat: "user_annotation", name: `ProfilerStep#${step}`, ts: at, dur: 900 },
      { ...host, cat: "python_function", name: `nn.Module: ${EVIL}_0`, ts: at + 5, dur: 500, args: { "Python id": step + 1, "Python parent id": null, "Python module id": 0 } },
      { ...host, cat: "cpu_op", name: EVIL, ts: at + 10, dur: 400, args: { "External id": step + 1, "Call stack": stack, "Input Dims": [[EVIL]] } },
      { ...host, cat: "cuda_runtime", name: "cudaLaunchKernel", ts: at + 20, dur: 10, args: { correlation: step + 1, "External id": step + 1 } },
      { ph: "X", pid: 0, tid: 7, cat: "kernel", name: EVIL, ts: at + 50, dur: 300, args: { device: 0, stream: 7, correlation: step + 1, grid: [1, 1, 1], block: [32, 1, 1], "blocks per SM": 0.5, "est. achieved occupancy %": 30 } },
      { ph: "i", s: "t", pid: 1, tid: 1, cat: "cpu_instant_event", name: "[memory]", ts: at + 30, args: { ...memory, Addr: 16 * (step + 1), Bytes: 4096 } },
      { ph: "i", s: "t", pid: 1, tid: 1, cat: "cpu_instant_event", name: "[memory]", ts: at + 300, args: { ...memory, Addr: 16 * (step + 1), Bytes: -4096, "Total Allocated": 0 } },
    ];
  });
}

function hostileLogdir(): string {
  const logdir = mkdtempSync(join(tmpdir(), "profiler-hostile-"));
  const run = join(logdir, EVIL_NAME);
  mkdirSync(run);
  for (const [rank, worker] of [`${EVIL_NAME}0`, `${EVIL_NAME}1`].entries()) {
    const trace = {
      schemaVersion: 1,
      deviceProperties: [{ id: 0, name: EVIL, totalGlobalMem: 1 << 30, computeMajor: 9, computeMinor: 0 }],
      distributedInfo: { backend: EVIL, rank, world_size: 2 },
      traceEvents: events(),
    };
    writeFileSync(join(run, `${worker}.1.pt.trace.json`), JSON.stringify(trace));
  }
  mkdirSync(join(logdir, "broken"));
  writeFileSync(join(logdir, "broken", `${EVIL_NAME}.pt.trace.json`), `{"traceEvents": ${EVIL}`);
  return logdir;
}

/** Moves over a chart, so that its tooltip comes. */
async function hoverCharts(page: Page): Promise<void> {
  for (const chart of await page.locator(".chart canvas").all()) {
    const box = await chart.boundingBox();
    if (box === null) continue;
    await chart.scrollIntoViewIfNeeded();
    for (const share of [0.3, 0.5, 0.7]) await chart.hover({ position: { x: box.width * share, y: box.height * 0.4 }, force: true });
  }
}

async function openRows(page: Page): Promise<void> {
  for (const button of await page.getByRole("button", { name: "Open row" }).all()) {
    if (await button.isVisible()) await button.click();
  }
  await page.waitForTimeout(500);
}

test("hostile names stay text in every view", async ({ guarded: page }) => {
  test.setTimeout(120_000);
  const server = await serve(hostileLogdir());
  await page.goto(`${server.url}#run=${encodeURIComponent(EVIL_NAME)}`);
  const rail = page.getByRole("navigation", { name: "Views" });
  await expect(rail.getByRole("link", { name: "Operators" })).toBeVisible();
  const views = await rail.getByRole("link").allTextContents();
  expect(views).toEqual(expect.arrayContaining(["Overview", "Operators", "Kernels"]));
  for (const view of views) {
    await rail.getByRole("link", { name: view, exact: true }).click();
    await expect(page.getByRole("heading", { level: 1, name: view })).toBeVisible();
    await page.waitForLoadState("networkidle");
    await hoverCharts(page);
    await openRows(page);
    expect(await page.locator("#torch-tb-profiler img, body script:not([src])").count(), `markup in ${view}`).toBe(0);
    expect(await page.evaluate(() => (window as { __pwned?: number }).__pwned), `script ran in ${view}`).toBeUndefined();
  }
  await rail.getByRole("link", { name: "Kernels" }).click();
  await expect(page.getByRole("region", { name: "Kernels", exact: true })).toContainText("onerror");

  await page.getByLabel("Run", { exact: true }).selectOption("broken");
  await expect(page.getByRole("alert")).toContainText(EVIL_NAME);
  expect(await page.locator("#torch-tb-profiler img").count()).toBe(0);
  await server.stop();
});
