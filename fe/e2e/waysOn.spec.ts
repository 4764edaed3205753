/** From any state of the page there is a way on: another trace, what was left out, the page before. */
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test } from "./fixtures";
import { goTo } from "./pages";
import { serve } from "./servers";

const EVENT = { ph: "X", cat: "cpu_op", name: "aten::add", pid: 1, tid: 1, ts: 1, dur: 10 };
const TRACE = JSON.stringify({ schemaVersion: 1, traceEvents: [EVENT] });
const BROKEN = "<!doctype html><p>Please log in</p>";

/** Runs of one file each: name → content and time of change. */
function logdir(runs: Readonly<Record<string, readonly [text: string, mtimeS: number]>>): string {
  const folder = mkdtempSync(join(tmpdir(), "profiler-ways-"));
  for (const [name, [text, mtimeS]] of Object.entries(runs)) {
    mkdirSync(join(folder, name));
    const file = join(folder, name, "w.pt.trace.json");
    writeFileSync(file, text);
    utimesSync(file, mtimeS, mtimeS);
  }
  return folder;
}

const CHOOSE = "Choose run, worker and span";

test("the newest run that can be read comes first, and the address then names it", async ({ guarded: page }) => {
  const server = await serve(logdir({ a_old: [TRACE, 1_700_000_000], b_new: [TRACE, 1_750_000_000], c_broken: [BROKEN, 1_760_000_000] }));
  await page.goto(server.url);
  await expect(page).toHaveURL(/#.*run=b_new/);
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
  await page.getByTitle(CHOOSE).click();
  const lines = page.getByRole("treeitem");
  await expect(lines).toHaveText([/^b_new.*2025-06-15/, /^a_old.*2023-11-14/, /c_broken/]);
  await expect(lines.nth(2)).toContainText("⚠");
  await server.stop();
});

test("a trace is chosen with keys alone", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=kineto_resnet50_nw0&view=kernels&steps=6`);
  await page.getByTitle(CHOOSE).focus();
  await page.keyboard.press("Enter");
  const field = page.getByRole("combobox", { name: "Find a trace" });
  await expect(field).toBeFocused();
  await page.keyboard.type("dlrm");
  await expect(page.getByRole("treeitem")).toHaveCount(1);
  await page.keyboard.press("ArrowRight");
  await expect(page.getByRole("treeitem", { name: /^worker3/ })).toBeVisible();
  for (let times = 0; times < 4; times++) await page.keyboard.press("ArrowDown");
  await expect(page.getByRole("treeitem", { selected: true })).toHaveText(/^worker3_step_12/);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/run=dlrm_8_ranks&.*worker=worker3_step_12|worker=worker3_step_12.*run=dlrm_8_ranks/);
  await expect(page).toHaveURL(/view=kernels/);
  expect(page.url()).not.toContain("steps=");
  await page.getByTitle(CHOOSE).click();
  await page.keyboard.press("Escape");
  await expect(field).toHaveCount(0);
  await expect(page.getByTitle(CHOOSE)).toBeFocused();
});

test("of a thousand ranks only the visible ones are drawn, and the last can be searched", async ({ guarded: page, standalone }) => {
  await page.route("**/api/runs", async (route) => {
    const response = await route.fetch();
    const runs = (await response.json()) as { runs: { name: string; workers: { name: string; spans: { name: string; file: string }[] }[] }[] };
    for (const run of runs.runs) {
      const [worker] = run.workers;
      if (run.name === "dlrm_8_ranks" && worker !== undefined) run.workers = Array.from({ length: 1000 }, (_, rank) => ({ ...worker, name: `rank${rank}` }));
    }
    await route.fulfill({ response, json: runs });
  });
  await page.goto(`${standalone.url}#run=kineto_resnet50_nw0`);
  await page.getByTitle(CHOOSE).click();
  const field = page.getByRole("combobox", { name: "Find a trace" });
  await field.fill("dlrm");
  await field.press("ArrowRight");
  await expect(page.getByRole("treeitem", { name: /^rank0/ })).toBeVisible();
  expect(await page.getByRole("treeitem").count()).toBeLessThan(60);
  await field.fill("rank999");
  await expect(page.getByRole("treeitem", { selected: true })).toHaveText(/^rank999/);
});

test("a trace that is deleted while it is shown leaves links to others", async ({ guarded: page }) => {
  const folder = logdir({ remaining: [TRACE, 1_700_000_000], deleted: [TRACE, 1_750_000_000] });
  const server = await serve(folder);
  await page.goto(`${server.url}#run=deleted`);
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
  rmSync(join(folder, "deleted"), { recursive: true });
  const alert = page.getByRole("alert");
  await expect(alert).toContainText("There is no run “deleted”.", { timeout: 30_000 });
  await alert.getByRole("button", { name: "Choose another" }).click();
  await expect(page.getByRole("dialog", { name: "Choose a trace" })).toBeVisible();
  await page.keyboard.press("Escape");
  await alert.getByRole("button", { name: "Go to the newest: remaining" }).click();
  await expect(page).toHaveURL(/run=remaining/);
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
  await server.stop();
});

test("skipped files are listed, and opened by one click", async ({ guarded: page }) => {
  const folder = logdir({ run: [TRACE, 1_700_000_000] });
  writeFileSync(join(folder, "run", "config.json"), '{"model": "resnet"}');
  const server = await serve(folder);
  await page.goto(server.url);
  await page.getByTitle(CHOOSE).click();
  await page.getByRole("button", { name: "1 other JSON file" }).click();
  await expect(page.getByRole("dialog")).toContainText("run/config.json");
  await page.getByRole("button", { name: "Open run/config.json" }).click();
  await expect(page.getByRole("alert").filter({ hasText: "config" })).toBeVisible();
  await server.stop();
});

test("while a trace is opened its outline is shown at once, and nothing flashes for cached answers", async ({ guarded: page, standalone }) => {
  let free = () => {};
  const held = new Promise<void>((done) => (free = done));
  await page.route("**/api/views?*", async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(`${standalone.url}#run=cpu_resnet_full`);
  await expect(page.locator(".outline")).toBeVisible();
  await expect(page.getByRole("progressbar")).toBeVisible();
  free();
  await expect(page.getByRole("heading", { name: "Average step" })).toBeVisible();
  await goTo(page, "operators");
  await expect(page.locator("[data-table=operators]")).toBeVisible();
  await page.evaluate(() => {
    const seen: string[] = [];
    Object.assign(window, { seen });
    new MutationObserver(() => document.querySelector(".outline") !== null && seen.push("outline")).observe(document.body, { childList: true, subtree: true });
  });
  await goTo(page, "overview");
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
  expect(await page.evaluate(() => (window as unknown as { seen: string[] }).seen)).toEqual([]);
});

test("without network the page stays, and shows since when", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=kineto_resnet50_nw0&view=operators`);
  const table = page.locator("[data-table=operators]");
  await expect(table.getByRole("row").nth(3)).toBeVisible();
  await page.context().setOffline(true);
  const status = page.getByRole("status").filter({ hasText: "No answer from the server since" });
  await expect(status).toContainText("Next try in");
  // A question that nobody answers meanwhile.
  await page.getByRole("button", { name: "Name + input shape", exact: true }).click();
  await expect(table).toBeVisible();
  await expect(page.getByRole("alert")).toHaveCount(0);
  await page.context().setOffline(false);
  await expect(status).toBeHidden({ timeout: 40_000 });
  await expect(table.getByRole("columnheader", { name: /^Input Shape/ })).toBeVisible();
});

test("Back restores the scroll position", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=kineto_resnet50_nw0&folds=steps`);
  const main = page.getByRole("main");
  await expect(page.getByRole("img", { name: "Chart: Step time" })).toHaveAttribute("aria-busy", "false");
  await main.evaluate((box) => (box.scrollTop = 500));
  await goTo(page, "kernels");
  await expect(page.getByRole("heading", { name: "Kernels" }).first()).toBeVisible();
  expect(await main.evaluate((box) => box.scrollTop)).toBe(0);
  await page.goBack();
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
  await expect.poll(() => main.evaluate((box) => box.scrollTop)).toBe(500);
});
