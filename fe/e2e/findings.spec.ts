/** Findings on the overview and their links: to the timeline, to the rows, to the checks. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { ViewAnswer } from "../src/generated/schema";
import { addressed } from "./addressed";
import { expect, test } from "./fixtures";
import { SAMPLES, serve } from "./servers";

const RUN = "kineto_resnet50_nw0";
const FILE = "worker0.1623143089861.pt.trace.json.gz";

test("a finding links to its range on the timeline: visible, marked, its slice selected", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=${RUN}`);
  await expect(page.getByRole("heading", { name: "Findings" })).toBeVisible();
  const answer = (await (await page.request.get(`${standalone.url}api/view/overview?run=${RUN}`)).json()) as ViewAnswer;
  const note = answer.notes.find(({ code }) => code === "dataloader_bound");
  const spot = note?.evidence["timeline"] as { start_ns: number; end_ns: number; slice: number };
  await page.getByRole("listitem").filter({ hasText: "Data loading" }).getByRole("link", { name: /^Show me/ }).click();
  await expect(page).toHaveURL(new RegExp(`view=timeline.*range=${spot.start_ns}-${spot.end_ns}`));
  await expect(page).toHaveURL(new RegExp(`slice=${spot.slice}`));
  const shown = addressed(page);
  expect(shown.start).toBeLessThan(spot.start_ns);
  expect(shown.end).toBeGreaterThan(spot.end_ns);
  expect(shown.end - shown.start).toBeLessThan(3 * (spot.end_ns - spot.start_ns));
  await expect(page.getByRole("heading", { name: /DataLoader/ })).toBeVisible();
  await page.goBack();
  await expect(page.getByRole("heading", { name: "Findings" })).toBeVisible();
});

test("a damaged file is the first finding, and a quality note", async ({ guarded: page }) => {
  const logdir = mkdtempSync(join(tmpdir(), "profiler-damaged-"));
  const whole = readFileSync(join(SAMPLES, RUN, FILE));
  writeFileSync(join(logdir, FILE), whole.subarray(0, Math.floor(whole.length * 0.6)));
  const server = await serve(logdir);
  await page.goto(server.url);
  const first = page.getByRole("region", { name: "Findings" }).getByRole("listitem").first();
  await expect(first).toContainText("Damaged recording");
  await expect(first).toContainText("ends in the middle");
  await expect(first).not.toContainText("est. gain");
  await first.getByRole("button", { name: "Why" }).click();
  await expect(first.getByRole("columnheader", { name: "Problem" })).toBeVisible();
  await expect(page.getByRole("region", { name: "Quality of the numbers" })).toContainText("ends in the middle");
  await page.waitForLoadState("networkidle");
  await server.stop();
  rmSync(logdir, { recursive: true });
});

test("the operators and kernels with the most time are listed, and lead to their rows", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=${RUN}`);
  const kernels = page.locator("[data-table=top_kernels]");
  await expect(kernels.getByRole("listitem")).toHaveCount(5);
  await kernels.getByRole("link").nth(1).click();
  await expect(page).toHaveURL(/view=kernels&.*kernels\.filter=name/);
  await expect(page.getByText(/^showing 1 of \d+$/)).toBeVisible();
  await page.goBack();
  await page.locator("[data-table=top_operators]").getByRole("link", { name: "All" }).click();
  await expect(page.getByRole("heading", { name: "Operators", exact: true }).first()).toBeVisible();
});

test("checks are listed, with the reason where there is not enough data", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=cpu_resnet_full`);
  await page.locator("summary", { hasText: "Checks" }).click();
  const row = page.getByRole("row").filter({ hasText: "GPU utilization" });
  await expect(row).toContainText("not enough data");
  await expect(row).toContainText("No device work was recorded");
  // Panels without numbers say why.
  await page.locator("summary", { hasText: "no GPU work recorded" }).click();
  await expect(page.getByRole("region", { name: "GPU utilization" })).toContainText("No GPU work was recorded");
  await expect(page.getByRole("region", { name: "Resource breakdown" })).toContainText("no device work");
  await expect(page.getByRole("region", { name: "Resource breakdown" }).getByRole("row", { name: /^CPU/ })).toContainText("96.8 %");
});

test("verdict, step bar and three findings fit the first screen", async ({ guarded: page, standalone }) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  for (const run of [RUN, "h100_bert_small", "dlrm_8_ranks", "cpu_slowloader_nw0"]) {
    await page.goto(`${standalone.url}#run=${run}&view=overview`);
    const findings = page.getByRole("region", { name: "Findings" }).locator(".findings > li");
    await expect(findings.first()).toBeVisible();
    expect(await findings.count()).toBeLessThanOrEqual(3);
    await expect(findings.last()).toBeInViewport({ ratio: 1 });
    await expect(page.locator(".answer")).toContainText(/ % /);
    // Nothing on the first screen is a dash.
    for (const part of [".answer", ".share-bar", ".findings"]) await expect(page.locator(part)).not.toContainText("–");
  }
});

test("the evidence is still open on coming back", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=${RUN}`);
  const finding = page.getByRole("region", { name: "Findings" }).locator(".findings > li").filter({ hasText: "Launch-bound" });
  await finding.getByRole("button", { name: "Why" }).click();
  await expect(finding.getByText(/^Measured /)).toBeVisible();
  await finding.getByRole("link", { name: "Which rows" }).click();
  await expect(page.getByRole("heading", { level: 1 })).not.toHaveText("Overview");
  await page.goBack();
  await expect(finding.getByText(/^Measured /)).toBeVisible();
});

const NEWER = ["estimated_gain_pct_of_step", "timeline", "same_time"];

test("an answer of an older server without these fields is shown", async ({ guarded: page, standalone }) => {
  await page.route("**/api/view/overview?*", async (route) => {
    const response = await route.fetch();
    // Not before it is read.
    if (response.status() !== 200) return route.fulfill({ response });
    const answer = (await response.json()) as ViewAnswer;
    const { average_step, steps, gpus } = answer.tables;
    const notes = answer.notes.map((note) => ({
      ...note,
      evidence: Object.fromEntries(Object.entries(note.evidence).filter(([key]) => !NEWER.includes(key))),
    }));
    return route.fulfill({ response, json: { ...answer, notes, tables: { average_step, steps, gpus } } });
  });
  await page.goto(`${standalone.url}#run=${RUN}`);
  const finding = page.getByRole("listitem").filter({ hasText: "Data loading" });
  await expect(finding).toContainText("per step, est. gain");
  await expect(finding.getByRole("link", { name: "Which rows" })).toBeVisible();
  await expect(finding.getByRole("link", { name: /^Show me/ })).toHaveCount(0);
  await expect(page.locator("summary", { hasText: "Checks" })).toHaveCount(0);
});
