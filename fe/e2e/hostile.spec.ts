/** Text of a trace is never markup: in no table, chart, tooltip, list or title of any view. */
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import type { Page } from "@playwright/test";

import { expect, test } from "./fixtures";
import { goTo, railOf } from "./pages";
import { python, serve } from "./servers";

const EVIL = '<img src=x onerror="window.__pwned=1"><script>window.__pwned=1</script>';
/** What is left of it where a name is shortened in the middle. */
const NAMED = /onerror|script>/;
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
      { ...host, cat: "cuda_runtime", name: "cudaLaunchKernel", ts: at + 430, dur: 10, args: { correlation: step + 11 } },
      { ph: "X", pid: 0, tid: 8, cat: "kernel", name: `ncclDevKernel_AllReduce_Sum_f32_RING_LL(${EVIL})`, ts: at + 450, dur: 200 + step, args: { device: 0, stream: 8, correlation: step + 11, "Collective name": "allreduce", "In msg nelems": 1024, "Out msg nelems": 1024, dtype: "Float", "Group size": 2, "Process Group Name": EVIL, "Process Group Description": EVIL, "Process Group Ranks": "[0, 1]", Seq: step } },
      { ph: "i", s: "t", pid: 1, tid: 1, cat: "cpu_instant_event", name: "[memory]", ts: at + 30, args: { ...memory, Addr: 16 * (step + 1), Bytes: 4096 } },
      { ...host, cat: "cuda_runtime", name: "cudaLaunchKernel", ts: at + 430, dur: 10, args: { correlation: step + 11 } },
      { ph: "X", pid: 0, tid: 8, cat: "kernel", name: `ncclDevKernel_AllReduce_Sum_f32_RING_LL(${EVIL})`, ts: at + 450, dur: 200 + step, args: { device: 0, stream: 8, correlation: step + 11, "Collective name": "allreduce", "In msg nelems": 1024, "Out msg nelems": 1024, dtype: "Float", "Group size": 2, "Process Group Name": EVIL, "Process Group Description": EVIL, "Process Group Ranks": "[0, 1]", Seq: step } },
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

/** Moves over the bars and curves of all charts, and returns the texts of their tooltips. */
async function tooltips(page: Page): Promise<string[]> {
  const texts: string[] = [];
  // The canvas of the iterations names nothing but numbers.
  for (const chart of await page.getByRole("img", { name: /^Chart:/ }).and(page.locator(":not(canvas)")).all()) {
    await expect(chart).toHaveAttribute("aria-busy", "false");
    await chart.scrollIntoViewIfNeeded();
    const box = await chart.boundingBox();
    if (box === null) throw new Error("a chart without a size");
    const tip = chart.locator(".chart-tip");
    for (const share of [0.4, 0.6]) await chart.hover({ position: { x: box.width * share, y: box.height * 0.3 }, force: true });
    await expect(tip).toBeVisible();
    texts.push(await tip.innerText());
  }
  return texts;
}

async function openRows(page: Page): Promise<void> {
  const closed = page.getByRole("button", { name: "Open row" });
  for (let left = await closed.count(); left > 0; left = Math.min(left - 1, await closed.count())) {
    await closed.first().click();
    // What the row holds is asked for; the next one may be inside of it.
    await expect(page.locator(".grid-detail p.soft", { hasText: / …$/ })).toHaveCount(0);
  }
}

/** Views that show names of the trace. */
const SHOWN = ["overview", "timeline", "compare", "iterations", "phases", "critical_path", "operators", "operator_types", "modules", "groups", "shapes", "kernels", "idle", "sequences", "memory", "distributed"];
/** The tabs of views that do not show them on their first. */
const TABS: Readonly<Record<string, string>> = { idle: "gaps", memory: "peak" };
/** Views that name nothing of the trace before something is chosen, or only short names of kernels. */
const UNNAMED = ["iterations", "phases", "operator_types", "sequences"];
/** Charts that name things of the trace, not only steps and categories. */
const NAMED_CHARTS = ["operators", "kernels", "memory", "distributed"];

async function expectNoMarkup(page: Page, where: string): Promise<void> {
  expect(await page.locator("#torch-tb-profiler img, body script:not([src])").count(), `markup in ${where}`).toBe(0);
  expect(await page.evaluate(() => (window as { __pwned?: number }).__pwned), `script ran in ${where}`).toBeUndefined();
}

test("hostile names stay text in every view", async ({ guarded: page }) => {
  test.setTimeout(120_000);
  const server = await serve(hostileLogdir());
  // Short names leave out what would do harm here.
  await page.goto(`${server.url}#run=${encodeURIComponent(EVIL_NAME)}&names=recorded`);
  await expect(railOf(page).getByRole("link", { name: "Operators" })).toBeVisible();
  for (const view of SHOWN) {
    await goTo(page, view, TABS[view]);
    // A short name leaves most of it out.
    if (view === "kernels") await page.getByLabel("Names of kernels").first().selectOption({ label: "As recorded names" });
    if (!UNNAMED.includes(view)) await expect(page.locator("main").getByText(NAMED).first(), `the name in ${view}`).toBeAttached();
    await openRows(page);
    const texts = await tooltips(page);
    if (NAMED_CHARTS.includes(view)) expect(texts.join("\n"), `tooltip in ${view}`).toContain("onerror");
    await expectNoMarkup(page, view);
  }

  await page.getByLabel("Find a name in every view").fill("<img src=x onerror");
  await page.getByRole("option", { name: /Kernel$/ }).click();
  await expect(page.getByRole("region", { name: "Kernels", exact: true })).toContainText(NAMED);
  await expectNoMarkup(page, "the search");

  await page.getByTitle("Choose run, worker and span").click();
  await expect(page.getByRole("tree")).toContainText("onerror");
  await expectNoMarkup(page, "the list of runs");
  await page.getByRole("treeitem", { name: /broken/ }).click();
  await expect(page.getByRole("alert")).toContainText(EVIL_NAME);
  await expectNoMarkup(page, "a failed file");
  await server.stop();
});

/** Recordings in which everything that has a name has one of `tests/data/hostile_names.json`, and one of 20,000 characters. */
const WRITE = `
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tests.helpers.hostile_names import LONG_NAMES, NAMES, write_logdir
write_logdir(Path(sys.argv[2]), [LONG_NAMES[1][:20_000], *NAMES], ["run", "=1+1;<b>"])
`;

/** What the page would be wider than the window for, and what is drawn far outside of it. */
async function expectLayout(page: Page, where: string): Promise<void> {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(wide, `${where} is wider than the window`).toBeLessThanOrEqual(1);
}

test("no name of the list acts or breaks a page", async ({ guarded: page }) => {
  test.setTimeout(120_000);
  const logdir = mkdtempSync(join(tmpdir(), "profiler-names-"));
  python(WRITE, resolve(import.meta.dirname, "../.."), logdir);
  const server = await serve(logdir);
  await page.goto(`${server.url}#run=run&names=recorded`);
  await expect(railOf(page).getByRole("link", { name: "Operators" })).toBeVisible({ timeout: 60_000 });
  for (const view of SHOWN) {
    await goTo(page, view, TABS[view]);
    await expect(page.locator("main [aria-busy=true]")).toHaveCount(0);
    const closed = page.getByRole("button", { name: "Open row" });
    if ((await closed.count()) > 0) await closed.first().click();
    await expectNoMarkup(page, view);
    await expectLayout(page, view);
  }
  for (const name of ["<script", "=HYPERLINK", "__proto__", "{{7*7}}", "\\x1b", "javascript:"]) {
    await page.getByLabel("Find a name in every view").fill(name);
    await expectNoMarkup(page, `the search for ${name}`);
  }
  await page.getByLabel("Find a name in every view").fill("");

  // The report as a file, without the policy that keeps a browser from running anything in it.
  const answer = () => page.request.get(`${server.url}api/report.html?run=run`);
  await expect.poll(async () => (await answer()).status()).toBe(200);
  await page.setContent((await (await answer()).text()).replace(/<meta http-equiv[^>]*>/, ""));
  await expect(page.getByRole("heading", { level: 2 }).first()).toBeVisible();
  expect(await page.locator("script, img, iframe, form, object, embed, link, base").count(), "markup in the report").toBe(0);
  expect(await page.evaluate(() => (window as { __pwned?: number }).__pwned), "script ran in the report").toBeUndefined();
  await expectLayout(page, "the report");
  await server.stop();
});
