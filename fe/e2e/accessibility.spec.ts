/** Every page, dialog and opened row: no fault by axe, targets and text large enough, in both themes and in high contrast. */
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { contrastFaults, faults, switchToDark } from "./audit";
import { expect, test } from "./fixtures";
import { railOf } from "./pages";
import { serve } from "./servers";
import { settled } from "./timelines";

interface AuditedPage {
  readonly name: string;
  readonly hash: string;
  /** What is done there before it is looked at. */
  readonly open?: (page: Page) => Promise<void>;
}

async function openRow(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Open row" }).first().click();
  await expect(page.locator(".grid-detail").first()).toBeVisible();
}

async function openSlice(page: Page): Promise<void> {
  await settled(page);
  const field = page.getByLabel("Find on the timeline");
  await field.fill("sgemm");
  await field.press("Enter");
  await expect(page.locator(".tl-panel")).toBeVisible();
}

const AUDITED_PAGES: readonly AuditedPage[] = [
  { name: "overview, all open", hash: "run=kineto_resnet50_nw0&folds=steps,devices,throughput,checks,system,guidance" },
  { name: "checks", hash: "run=cpu_resnet_full&folds=checks" },
  { name: "an iteration with its operators and kernels", hash: "run=kineto_resnet50_nw0&view=iterations&steps=6:8&iteration=7&aggregations=warm;;6:8" },
  { name: "what cuts the trace", hash: "run=kineto_resnet50_nw0&view=iterations", open: (page) => page.getByRole("button", { name: "Iterations by step" }).click() },
  { name: "a key node that is not there", hash: "run=kineto_resnet50_nw0&view=iterations&iterations_by=name:aten::convx" },
  { name: "operators with a row open", hash: "run=h100_bert_small&view=operators", open: openRow },
  { name: "operators at their places", hash: "run=h100_bert_small&view=operators&group_by=path", open: openRow },
  { name: "operator types with a row open", hash: "run=kineto_resnet50_nw0&view=operator_types", open: openRow },
  { name: "kernels with a row open", hash: "run=kineto_resnet50_nw0&view=kernels", open: openRow },
  { name: "memory", hash: "run=cpu_resnet_full&view=memory" },
  { name: "memory at the peak", hash: "run=h100_bert_small&view=memory&tab=peak" },
  { name: "a gap with its row open", hash: "run=kineto_resnet50_nw0&view=idle&tab=gaps", open: openRow },
  { name: "launches", hash: "run=kineto_resnet50_nw0&view=idle&tab=launches" },
  { name: "why pages have no data", hash: "run=cpu_ddp4_gloo&view=operators", open: (page) => railOf(page).getByRole("button", { name: /need data/ }).click() },
  { name: "why tabs have no data", hash: "run=h100_bert_small&view=kernels", open: (page) => page.getByRole("button", { name: /^1 more needs data$/ }).click() },
  { name: "a critical path", hash: "run=kineto_resnet50_nw0&view=critical_path" },
  { name: "modules", hash: "run=cpu_resnet_full&view=modules" },
  { name: "a group of equal siblings", hash: "run=h100_bert_small&view=groups&fold=folded&group=BertLMHeadModel_0/BertModel_0/BertEncoder_0/BertLayer%20%C3%974" },
  { name: "levels of the timeline", hash: "run=h100_bert_small&view=timeline&levels=modules:3", open: (page) => page.getByRole("button", { name: "Levels shown" }).click() },
  { name: "phases", hash: "run=dlrm_8_ranks&view=phases" },
  { name: "data", hash: "run=cpu_slowloader_nw0&view=data" },
  { name: "shapes", hash: "run=cpu_resnet_full&view=shapes" },
  { name: "ranks", hash: "run=dlrm_8_ranks&view=ranks" },
  { name: "distributed", hash: "run=dlrm_8_ranks&view=distributed" },
  { name: "compare", hash: "run=cpu_slowloader_nw2&view=compare&baseline_run=cpu_slowloader_nw0" },
  { name: "timeline with a range", hash: "run=kineto_resnet50_nw0&view=timeline&range=100000000-300000000&colors=duration", open: (page) => page.getByRole("button", { name: "Colours" }).click() },
  { name: "notes on the timeline", hash: "run=h100_bert_small&view=timeline&notes=1200000%20a%20note&note=1200000", open: settled },
  { name: "recordings one above the other", hash: "run=h100_bert_small&view=timeline&below=mi300_bert_small:rank0:default&zeros=6,6", open: (page) => page.getByRole("button", { name: "Stack" }).click() },
  { name: "timeline with a slice", hash: "run=kineto_resnet50_nw0&view=timeline", open: openSlice },
  { name: "a selection of nothing", hash: "run=kineto_resnet50_nw0&view=kernels&start_us=1&end_us=2" },
  { name: "a view without data", hash: "run=cpu_ddp4_gloo&view=kernels" },
  { name: "a trace that is gone", hash: "run=gone" },
  { name: "help", hash: "run=cpu_resnet_full", open: (page) => page.getByRole("button", { name: "Help and settings" }).click() },
  { name: "the list of runs", hash: "run=dlrm_8_ranks", open: (page) => page.getByTitle("Choose run, worker and span").click() },
  { name: "the selection", hash: "run=cpu_resnet_full", open: (page) => page.getByTitle("Choose steps or a time range").click() },
  { name: "the menu of the trace", hash: "run=cpu_resnet_full", open: (page) => page.getByRole("button", { name: /^Trace/ }).click() },
];

async function visit(page: Page, url: string, { hash, open }: AuditedPage): Promise<void> {
  // Another document: what was open is closed, and nothing is focused.
  await page.goto("about:blank");
  await page.goto(`${url}#${hash}`);
  await expect(page.locator("main h1").first()).toBeAttached();
  await expect(page.locator("[aria-busy=true]")).toHaveCount(0);
  await open?.(page);
  await expect(page.locator("main [aria-busy=true]")).toHaveCount(0);
}

// In parts: side by side they take the time of the longest, and none gets near its limit.
const PARTS = 3;

for (let part = 0; part < PARTS; part++) {
  test(`no page has a fault, in either theme (part ${part + 1} of ${PARTS})`, async ({ guarded: page, standalone }) => {
    test.setTimeout(180_000);
    await page.setViewportSize({ width: 1440, height: 900 });
    const faultsByPage: Record<string, string[]> = {};
    for (const audited of AUDITED_PAGES.filter((_, index) => index % PARTS === part)) {
      await page.emulateMedia({ colorScheme: "light" });
      await visit(page, standalone.url, audited);
      const light = await faults(page);
      await switchToDark(page);
      const dark = await contrastFaults(page);
      if (light.length + dark.length > 0) faultsByPage[audited.name] = [...light, ...dark];
    }
    expect(faultsByPage).toEqual({});
  });
}

test("an empty folder and a broken file have no fault either", async ({ guarded: page }) => {
  const empty = await serve(mkdtempSync(join(tmpdir(), "profiler-empty-")));
  await visit(page, empty.url, { name: "empty", hash: "" });
  expect(await faults(page), "an empty folder").toEqual([]);
  await empty.stop();
  const logdir = mkdtempSync(join(tmpdir(), "profiler-broken-"));
  mkdirSync(join(logdir, "bad"));
  writeFileSync(join(logdir, "bad", "w.pt.trace.json"), "<!doctype html><p>Please log in</p>");
  const broken = await serve(logdir);
  await visit(page, broken.url, { name: "broken", hash: "" });
  await expect(page.getByRole("alert")).toBeVisible();
  expect(await faults(page), "a broken file").toEqual([]);
  await broken.stop();
});

test("the first Tab skips the bar and the rail", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=cpu_resnet_full`);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Overview");
  await page.keyboard.press("Tab");
  const skip = page.getByRole("link", { name: "Skip to content" });
  await expect(skip).toBeFocused();
  await expect(skip).toBeInViewport();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("main")).toBeFocused();
  expect(page.url()).toContain("run=cpu_resnet_full");
});

test("in high contrast the selection and charts stay visible", async ({ guarded: page, standalone }) => {
  // A theme chosen here must not paint dark text on the system's dark ground.
  await page.addInitScript(() => localStorage.setItem("torch-tb-profiler.theme", "light"));
  await page.emulateMedia({ forcedColors: "active", colorScheme: "dark" });
  await page.goto(`${standalone.url}#run=kineto_resnet50_nw0&view=operators`);
  const rail = railOf(page);
  const edge = (name: string) => rail.getByRole("link", { name }).evaluate((link) => getComputedStyle(link).borderLeftColor);
  expect(await edge("Operators")).not.toBe(await edge("Kernels"));
  const ground = (pressed: boolean) =>
    page.locator(`.segmented .button[aria-pressed=${pressed}]`).first().evaluate((button) => getComputedStyle(button).backgroundColor);
  expect(await ground(true)).not.toBe(await ground(false));
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.goto(`${standalone.url}#run=kineto_resnet50_nw0&folds=steps`);
  const swatches = page.locator(".legend .swatch");
  await expect(swatches.first()).toBeVisible();
  const colors = await swatches.evaluateAll((all) => all.map((swatch) => getComputedStyle(swatch).backgroundColor));
  expect(new Set(colors).size).toBe(colors.length);
});
