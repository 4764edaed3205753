/** What tables do for who reads them: names, widths, sums, expressions, columns in the address, exports, keys. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Locator, Page } from "@playwright/test";

import { expect, test } from "./fixtures";
import { goTo } from "./pages";
import { serve } from "./servers";
import { card, columnTexts, exported, header } from "./tables";

const BERT = "#run=h100_bert_small";

/** Whether all of it is between the edges of the table, where nobody has to scroll. */
async function isInSight(table: Locator, column: Locator): Promise<boolean> {
  const [outer, inner] = await Promise.all([table.locator(".grid-scroll").first().boundingBox(), column.boundingBox()]);
  if (outer === null || inner === null) throw new Error("not drawn");
  return inner.x >= outer.x && inner.x + inner.width <= outer.x + outer.width + 1;
}

for (const width of [1440, 1280]) {
  for (const [view, group, measures] of [
    ["Kernels", "name+operator+launch", ["Calls", "Total", "Max"]],
    ["Operators", "name+input_shape+call_stack", ["Calls", "Device Self", "Host Total"]],
  ] as const) {
    test(`the measures of ${group} are in sight at ${width} px`, async ({ guarded: page, standalone }) => {
      await page.setViewportSize({ width, height: 900 });
      await page.goto(`${standalone.url}${BERT}&view=${view.toLowerCase()}&group_by=${encodeURIComponent(group)}`);
      const table = card(page, view);
      for (const measure of measures) expect(await isInSight(table, await header(table, measure)), measure).toBe(true);
    });
  }
}

test("names of kernels are short or full, as chosen for every view", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}${BERT}&view=kernels`);
  const table = card(page, "Kernels");
  const cell = table.getByTitle(/^void pytorch_flash::flash_fwd_kernel/).first();
  await expect(cell).toHaveText(/^▶flash_fwd_kernel<[^…]*>$/);
  await expect(table.getByRole("columnheader", { name: /Name/ })).toHaveCount(1);
  await table.getByLabel("Names of kernels").selectOption("recorded");
  await expect(page).toHaveURL(/names=recorded/);
  await expect(cell).toContainText(/void pytorch_flash/);
  await goTo(page, "overview");
  await expect(page.locator("[data-table=top_kernels]")).toContainText("cutlass::Kernel2<");
  await page.reload();
  await expect(page.locator("[data-table=top_kernels]")).toContainText("cutlass::Kernel2<");
});

test("a table without names of kernels has no control for them", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}${BERT}&view=kernels`);
  await card(page, "Kernels").getByRole("button", { name: "Open row" }).first().click();
  const launches = page.getByRole("group", { name: "By operator and launch", exact: true });
  await expect(launches.getByRole("columnheader", { name: /^Operator/ }).first()).toBeVisible();
  await expect(launches.getByLabel("Names of kernels")).toHaveCount(0);
});

test("a click copies the full name of a kernel, and so does the keyboard", async ({ guarded: page, standalone }) => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(`${standalone.url}${BERT}&view=kernels`);
  const table = card(page, "Kernels");
  const cell = table.getByTitle(/^void pytorch_flash::flash_fwd_kernel/).first();
  await cell.hover();
  await cell.getByRole("button", { name: "Copy full name" }).click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied).toBe(await cell.getAttribute("title"));
  await table.getByRole("treegrid").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Control+c");
  expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(/^void cutlass::/);
});

test("the filter of a name matches any of its names", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}${BERT}&view=kernels&kernels.filter=name~pytorch_flash`);
  const table = card(page, "Kernels");
  await expect(table.getByRole("status").first()).toHaveText("showing 1 of 11");
  expect(await columnTexts(table, 0)).toEqual([expect.stringMatching(/^▶flash_fwd_kernel</)]);
});

test("below the rows are the sums of the matching rows", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}${BERT}&view=kernels&kernels.filter=name~gemm`);
  const foot = card(page, "Kernels").locator(".grid-foot .grid-cell");
  await expect(foot.first()).toHaveText("4 of 11 rows, 64.3 % of Total");
  const rows = await columnTexts(card(page, "Kernels"), 2);
  expect(Number(await foot.nth(2).textContent())).toBe(rows.reduce((sum, calls) => sum + Number(calls), 0));
  await expect(foot.nth(3)).toHaveAttribute("title", /^Sum: 197\.\d+ µs\n64\.3 % of all 11 rows$/);
});

test("regular expressions: matched by the server, refused with a message, never a page that hangs", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=kineto_resnet50_nw0&view=operators`);
  const table = card(page, "Operators");
  await table.getByRole("button", { name: "Regular expression" }).click();
  const field = table.getByLabel("Search Operators");
  await field.fill("^aten::(conv|mm)");
  await expect(table.getByRole("status").first()).toHaveText(/^showing [1-9]\d* of 76$/);
  await expect.poll(async () => (await columnTexts(table, 0)).filter((text) => !/^▶aten::(conv|mm)/.test(text))).toEqual([]);
  await page.reload();
  await expect(table.getByLabel("Search Operators")).toHaveValue("^aten::(conv|mm)");
  await expect(table.getByRole("status").first()).toHaveText(/^showing [1-9]\d* of 76$/);

  await field.fill("a(?=b)");
  await expect(field).toHaveAttribute("aria-invalid", "true");
  await expect(field).toHaveAttribute("title", /look-around.*not supported/);
  await field.fill("^(a|aa|a:*)+$|((a+)+)+b");
  await expect(table.getByText("No row matches the filter.")).toBeVisible();

  await field.fill("");
  await table.getByLabel("Filter Name").fill("=~mm$");
  await expect(page).toHaveURL(/operators\.filter=name%3D~\/mm%24\//);
  await expect(table.getByRole("status").first()).toHaveText(/^showing [1-9]\d* of 76$/);
});

test("columns and widths are in the address, and Reset restores the defaults", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}${BERT}&view=kernels`);
  const table = card(page, "Kernels");
  await table.getByRole("button", { name: /^Columns/ }).click();
  expect(await table.locator(".popover").textContent()).not.toMatch(/[a-z]_[a-z]+(?:\+|$|\W)/);
  await table.getByLabel("Search the columns").fill("median");
  await table.getByLabel(/^Median/).check();
  await page.keyboard.press("Escape");
  const name = await header(table, "Name");
  const grip = name.locator(".resizer");
  const from = await grip.boundingBox();
  if (from === null) throw new Error("no grip");
  await page.mouse.move(from.x + 4, from.y + 20);
  await page.mouse.down();
  await page.mouse.move(from.x - 96, from.y + 20, { steps: 5 });
  await page.mouse.up();
  await expect(page).toHaveURL(/kernels\.cols=%2Bmedian_us&kernels\.widths=name:\d+/);
  const width = (await name.boundingBox())?.width ?? 0;
  await page.reload();
  await header(table, "Median");
  expect((await name.boundingBox())?.width ?? 0).toBeCloseTo(width, 0);
  await table.getByRole("button", { name: /^Columns/ }).click();
  await table.getByRole("button", { name: "Reset columns and widths" }).click();
  await expect(page).not.toHaveURL(/kernels\.(cols|widths)/);
  await expect(table.getByRole("columnheader", { name: /^Median/ })).toHaveCount(0);
});

test("a table inside a row is saved under the name of its row", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}${BERT}&view=operators`);
  await card(page, "Operators").getByRole("row", { name: /aten::addmm/ }).getByRole("button", { name: "Open row" }).click();
  const { name, text } = await exported(page, page.getByRole("group", { name: "Own kernels by launch" }), "Shown rows as CSV");
  expect(name).toMatch(/^operators_Own_kernels_by_launch_of_aten_addmm_h100_bert_small[A-Za-z0-9._-]*\.csv$/);
  expect(text).toMatch(/^name,.*,short_name,demangled_name/);
});

test("copied rows and saved evidence name the recording", async ({ guarded: page, standalone }) => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(`${standalone.url}${BERT}&view=kernels`);
  const table = card(page, "Kernels");
  await table.getByRole("button", { name: "Export" }).click();
  await page.getByRole("button", { name: "Copy shown rows" }).click();
  await expect(page.getByRole("button", { name: "Copy shown rows" })).toHaveCount(0);
  const lines = (await page.evaluate(() => navigator.clipboard.readText())).split("\n");
  expect(lines[0]).toMatch(/^h100_bert_small · .*Kernels$/);
  expect(lines[1]).toMatch(/^name\t/);
  await page.goto(`${standalone.url}${BERT}&view=overview`);
  await page.getByRole("button", { name: "Why" }).first().click();
  const { name } = await exported(page, page.locator(".findings .rows"), "Shown rows as CSV");
  expect(name).toMatch(/^evidence_launch_bound_h100_bert_small/);
});

test("a table is copied as Markdown, and a link to it leads there", async ({ guarded: page, standalone }) => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(`${standalone.url}${BERT}&view=kernels&kernels.filter=name~pytorch_flash`);
  const copied = async (name: string) => {
    await card(page, "Kernels").getByRole("button", { name: "Export" }).click();
    await page.getByRole("button", { name }).click();
    await expect(page.getByRole("button", { name })).toHaveCount(0);
    return page.evaluate(() => navigator.clipboard.readText());
  };
  const lines = (await copied("Copy as Markdown")).trimEnd().split("\n");
  expect(lines).toHaveLength(5);
  expect(lines[0]).toMatch(/^\*\*h100\\_bert\\_small · .*Kernels\*\*$/);
  expect(lines[2]).toMatch(/^\| Name \|.*\| Total \(µs\) \|/);
  expect(lines[4]).toMatch(/^\| flash\\_fwd\\_kernel&lt;/);
  const link = await copied("Copy link to this table");
  expect(link).toContain("table=kernels");
  await page.goto("about:blank");
  await page.goto(link);
  await expect(card(page, "Kernels").getByRole("status").first()).toHaveText("showing 1 of 11");
  await expect(card(page, "Kernels")).toBeFocused();
});

test("a click on a row's name opens the row", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}${BERT}&view=operators`);
  const row = card(page, "Operators").locator(".grid-row").filter({ hasText: "aten::addmm" });
  const name = row.getByRole("gridcell").first();
  await name.click({ position: { x: 80, y: 12 } });
  await expect(row).toHaveAttribute("aria-expanded", "true");
  await expect(page.locator(".grid-detail")).toBeVisible();
  await expect(page).toHaveURL(/operators\.open=/);
  await name.click({ position: { x: 80, y: 12 } });
  await expect(row).toHaveAttribute("aria-expanded", "false");
  // The other cells are read and copied.
  await row.getByRole("gridcell").nth(2).click();
  await expect(row).toHaveAttribute("aria-expanded", "false");
});

test("the wheel scrolls the page over a table, and the table once it is clicked", async ({ guarded: page, standalone }) => {
  await page.setViewportSize({ width: 1280, height: 500 });
  await page.goto(`${standalone.url}#run=kineto_resnet50_nw0&view=kernels`);
  const grid = card(page, "Kernels").getByRole("treegrid");
  await expect(grid.getByRole("row").nth(3)).toBeVisible();
  const main = page.getByRole("main");
  const tops = async () => [await main.evaluate((box) => box.scrollTop), await grid.evaluate((box) => box.scrollTop)] as const;
  // To the table: there the wheel still moves the page.
  await grid.scrollIntoViewIfNeeded();
  const [before] = await tops();
  await grid.hover();
  await page.mouse.wheel(0, 60);
  await expect.poll(async () => (await tops())[0]).toBeGreaterThan(before);
  expect((await tops())[1]).toBe(0);
  await grid.getByRole("gridcell").nth(2).click();
  const [clicked] = await tops();
  await page.mouse.wheel(0, 60);
  await expect.poll(async () => (await tops())[1]).toBeGreaterThan(0);
  expect((await tops())[0]).toBe(clicked);
});

test("rows open and close with the arrows, and have their level and position", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=cpu_resnet_full&view=modules`);
  const grid = card(page, "Modules").getByRole("treegrid");
  const root = grid.locator("[role=row][aria-level='1']").first();
  await expect(root).toHaveAttribute("aria-expanded", "true");
  await expect(root).toHaveAttribute("aria-posinset", "1");
  await grid.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowLeft");
  await expect(root).toHaveAttribute("aria-expanded", "false");
  await page.keyboard.press("ArrowRight");
  await expect(root).toHaveAttribute("aria-expanded", "true");
  await expect(grid.locator("[role=row][aria-level='2']").first()).toBeVisible();
});

/** A kernel whose name turns round what follows it, and hides a blank. */
const UNSEEN = "gemm\u202eexe.\u200bf\u2066";

async function shownTexts(page: Page): Promise<string> {
  return page.evaluate(() => {
    const titles = [...document.querySelectorAll("[title]")].map((element) => element.getAttribute("title"));
    return `${document.querySelector("main")?.textContent ?? ""} ${titles.join(" ")}`;
  });
}

test("invisible characters in a name are marks in tables, titles and tooltips, and unchanged in exports", async ({ guarded: page }) => {
  const logdir = mkdtempSync(join(tmpdir(), "profiler-unseen-"));
  const args = { correlation: 1, device: 0, stream: 7 };
  const traceEvents = [
    { ph: "X", cat: "cuda_runtime", name: "cudaLaunchKernel", pid: 1, tid: 1, ts: 1, dur: 2, args },
    { ph: "X", cat: "kernel", name: UNSEEN, pid: 0, tid: 7, ts: 3, dur: 4, args },
  ];
  writeFileSync(join(logdir, "w.pt.trace.json"), JSON.stringify({ schemaVersion: 1, traceEvents }));
  const server = await serve(logdir);
  await page.goto(`${server.url}#view=kernels&names=recorded`);
  const table = card(page, "Kernels");
  await expect(table).toContainText("gemm⟨U+202E⟩exe.⟨U+200B⟩f⟨U+2066⟩");
  await table.getByRole("button", { name: "Open row" }).click();
  await expect(page.locator(".full-name")).toContainText("⟨U+202E⟩");
  expect(await shownTexts(page)).not.toMatch(/[\u202e\u200b\u2066]/);
  await table.getByRole("button", { name: "Close row" }).click();
  expect((await exported(page, table, "Shown rows as CSV")).text).toContain(UNSEEN);
  await server.stop();
});
