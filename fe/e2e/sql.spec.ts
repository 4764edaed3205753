/** The page of queries: editor with suggestions, answers as table and chart, errors at their place, the link to all of it. */
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Locator, Page } from "@playwright/test";

import type { SqlTablesAnswer } from "../src/generated/schema";
import { contrastFaults, faults, switchToDark } from "./audit";
import { expect, test } from "./fixtures";
import { railOf } from "./pages";
import { serve } from "./servers";
import { card, columnTexts, drawnChart, exactValues, exported } from "./tables";

const RUN = "run=h100_bert_small&view=sql";
/** Kernels and their summed durations (307.197 µs) in the file of this run, counted from its JSON. */
const KERNELS = 60;
const KERNELS_NS = 307_197;
const TOTALS = "select name, count(*) as calls, sum(dur_ns) as total_ns from raw.device_work where category = 'kernel' group by name order by total_ns desc";
/** Runs until its time is up. */
const ENDLESS = "select count(*) from range(1000000) a, range(1000000) b where a.range * b.range % 7 = 3";

function editor(page: Page): Locator {
  return page.getByRole("textbox", { name: "Query in SQL" });
}

async function run(page: Page, query: string): Promise<void> {
  await editor(page).fill(query);
  await editor(page).press("Control+Enter");
}

function hash(query: string, more = ""): string {
  return `${RUN}&query=${encodeURIComponent(query)}${more}`;
}

test("a query over the recording: its numbers, exports, and what the link opens", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=h100_bert_small`);
  await railOf(page).getByRole("link", { name: "SQL", exact: true }).click();
  await expect(card(page, "Examples").getByRole("button")).toHaveCount(10);
  await run(page, TOTALS);
  const table = card(page, "Answer");
  await expect(page.getByRole("main")).toContainText(/11 rows, in [\d.]+ m?s\./);
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  expect([sum(await exactValues(table, 1)), sum(await exactValues(table, 2))]).toEqual([KERNELS, KERNELS_NS]);
  const csv = await exported(page, table, "Shown rows as CSV");
  expect(csv.name).toBe("sql_h100_bert_small_rank0_default.csv");
  expect(csv.text.split("\r\n")[0]).toBe("name,calls,total_ns");

  await page.getByRole("button", { name: "Chart", exact: true }).click();
  await drawnChart(page, "total_ns by Name");
  const chart = page.getByRole("figure", { name: "total_ns by Name" });
  await chart.getByRole("combobox", { name: "Y", exact: true }).selectOption({ label: "calls" });
  await drawnChart(page, "calls by Name");
  await table.getByRole("columnheader", { name: /^calls/ }).getByRole("button").first().click();
  await expect(page).toHaveURL(/form=chart.*y=calls|y=calls.*form=chart/);
  const [address, names] = [page.url(), await columnTexts(table, 0)];
  await page.goto("about:blank");
  await page.goto(address);
  await drawnChart(page, "calls by Name");
  await expect(editor(page)).toHaveValue(TOTALS);
  await expect.poll(() => columnTexts(table, 0)).toEqual(names);
  // Another query begins anew, and Back returns to the former.
  await run(page, "select 1 as one");
  await expect(page.getByRole("main")).toContainText("1 row, in");
  await expect(page).not.toHaveURL(/y=calls/);
  await page.goBack();
  await expect(editor(page)).toHaveValue(TOTALS);
});

test("examples run with one click, the history too, until it is deleted", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#${RUN}`);
  await page.getByRole("button", { name: /^Gaps between kernels/ }).click();
  await expect(editor(page)).toHaveValue(/lag\(name\)/);
  await expect(card(page, "Answer").getByRole("columnheader", { name: /^gap_ns/ })).toBeVisible();
  await page.getByRole("button", { name: "Examples ▾" }).click();
  await page.getByRole("button", { name: /^Launch delays/ }).click();
  await expect(card(page, "Answer").getByRole("columnheader", { name: /^median_ns/ })).toBeVisible();
  await page.reload();
  const menu = page.locator(".sql-menu");
  await page.getByRole("button", { name: "History ▾" }).click();
  await expect(menu.locator(".sql-past")).toHaveCount(2);
  await expect(menu.locator(".sql-past").first()).toContainText("launch_delay_ns");
  expect(await faults(page)).toEqual([]);
  await menu.getByRole("button", { name: /^with ordered as/ }).click();
  await expect(editor(page)).toHaveValue(/lag\(name\)/);
  await page.getByRole("button", { name: "History ▾" }).click();
  await menu.getByRole("button", { name: /^Delete from the history: select device/ }).click();
  await expect(menu.locator(".sql-past")).toHaveCount(1);
  await menu.getByRole("button", { name: "Delete all 1" }).click();
  await expect(page.locator(".popover")).toContainText("Queries that you run are listed here");
  expect(await page.evaluate(() => localStorage.getItem("torch-tb-profiler.sql"))).toBeNull();
});

test("suggestions by keyboard: tables, columns with unit and help, and a way out", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#${RUN}`);
  const field = editor(page);
  await field.pressSequentially("select * from raw.dev");
  const list = page.getByRole("listbox", { name: "Suggestions" });
  await expect(list.getByRole("option")).toHaveText([/device_work/, /devices/]);
  await field.press("ArrowDown");
  await expect(list.getByRole("option", { selected: true })).toContainText("devices");
  await field.press("ArrowUp");
  expect(await faults(page)).toEqual([]);
  await field.press("Enter");
  await expect(field).toHaveValue("select * from raw.device_work");
  await field.pressSequentially(" w where w.launch_d");
  await expect(list.getByRole("option")).toContainText("integer, ns");
  await expect(page.locator(".sql-completions")).toContainText("From the start of its launch to its start.");
  // Escape closes the list alone; Enter is a new line then.
  await field.press("Escape");
  await expect(list).toHaveCount(0);
  await field.press("Control+Space");
  await list.getByRole("option").click();
  await expect(field).toHaveValue("select * from raw.device_work w where w.launch_delay_ns");
  // One step to undo each.
  await field.press("Control+z");
  await expect(field).toHaveValue("select * from raw.device_work w where w.launch_d");
  await field.press("Control+Space");
  await field.press("Tab");
  await expect(field).not.toBeFocused();
  await expect(list).toHaveCount(0);
  // What is typed is there on the way back from another page.
  await railOf(page).getByRole("link", { name: "Kernels" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Kernels");
  await railOf(page).getByRole("link", { name: "SQL" }).click();
  await expect(field).toHaveValue("select * from raw.device_work w where w.launch_d");
});

test("an error is marked in the query, with the nearest names", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#${hash("select name,\n  nme\nfrom raw.slices")}`);
  const alert = page.getByRole("alert");
  await expect(alert).toContainText("line 2, column 3");
  await expect(alert).toContainText("Did you mean name");
  await expect(page.locator(".sql-wrong")).toHaveText("nme");
  await expect(editor(page)).toHaveAttribute("aria-invalid", "true");
  expect(await faults(page)).toEqual([]);
  await switchToDark(page);
  expect(await contrastFaults(page)).toEqual([]);
  // The mark belongs to the query that ran.
  await editor(page).fill("select name");
  await expect(page.locator(".sql-wrong")).toHaveCount(0);
  await run(page, "select *\nfrom slics");
  await expect(alert).toContainText("There is no table 'slics'");
  await expect(alert).toContainText("Did you mean slices");
  await expect(page.locator(".sql-wrong")).toHaveText("slics");
  await run(page, "select 1 +");
  await expect(page.locator(".sql-wrong")).toHaveText("+");
  await run(page, "select * from read_csv('/etc/passwd')");
  await expect(alert).toContainText("cannot use the table function");
  await run(page, `select ${"1, ".repeat(7000)} 1`);
  await expect(alert).toContainText(/has 21.009 characters; 20.000 are possible/);
});

test("a running query is canceled, and runs again", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#${hash(ENDLESS)}`);
  const main = page.getByRole("main");
  await expect(main).toContainText("Running …");
  const aborted = page.waitForEvent("requestfailed", (request) => request.url().includes("/sql?"));
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  expect((await aborted).failure()?.errorText).toContain("ERR_ABORTED");
  await expect(main).toContainText("Canceled.");
  expect(await faults(page)).toEqual([]);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(main).toContainText("Running …");
  await run(page, "select 42 as n");
  await expect(main).toContainText("1 row, in");
});

test("one worker or all of the run; more rows than are shown; a query too long for a link", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=dlrm_8_ranks&worker=worker3_step_12&view=sql`);
  await run(page, "select distinct worker from raw.steps order by 1");
  const table = card(page, "Answer");
  await expect.poll(() => columnTexts(table, 0)).toEqual(["worker3_step_12"]);
  await page.getByRole("button", { name: "All 8 workers", exact: true }).click();
  await expect.poll(() => columnTexts(table, 0)).toEqual(Array.from({ length: 8 }, (_, at) => `worker${at}_step_12`));
  await expect(page).toHaveURL(/workers=all/);
  await run(page, "select range as n, null as missing from range(12345)");
  await expect(page.getByRole("main")).toContainText(/10.000 rows, and there are more/);
  await page.getByRole("button", { name: /^Show up to 100.000 rows$/ }).click();
  await expect(page.getByRole("main")).toContainText(/12.345 rows, in/);
  expect(await faults(page)).toEqual([]);
  await run(page, `select 1 as x -- ${"x".repeat(9000)}`);
  await expect(page.getByRole("note")).toContainText("too long for a link");
  await expect(page.getByRole("main")).toContainText("1 row, in");
  await expect(page).not.toHaveURL(/query=/);
  // The note is about the query that ran, not about what is typed next.
  await editor(page).fill("select 2");
  await expect(page.getByRole("note")).toHaveCount(0);
});

test("the selection applies to views, and a note says to which tables", async ({ guarded: page, standalone }) => {
  const query = "select count(*) as rows, sum(calls) as calls from kernels";
  await page.goto(`${standalone.url}#run=kineto_resnet50_nw0&span=1&view=sql&steps=6:7&query=${encodeURIComponent(query)}`);
  const table = card(page, "Answer");
  await expect(page.getByRole("note")).toHaveText("Tables of views are those of the selection: steps 6:7.");
  // 1462 kernels in every step.
  expect(await exactValues(table, 1)).toEqual([2 * 1462]);
  await page.getByRole("button", { name: "Remove the selection" }).click();
  await expect.poll(() => exactValues(table, 1)).toEqual([6 * 1462]);
  await expect(page.getByRole("note")).toHaveCount(0);
});

test("tables and columns are listed, searched and inserted", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#${RUN}`);
  const panel = page.getByRole("region", { name: "Tables", exact: true });
  await panel.getByRole("searchbox").fill("launch_delay_ns");
  await expect(panel.getByRole("status")).toHaveText(/^1 of \d+$/);
  await expect(panel).toContainText("From the start of its launch to its start.");
  await editor(page).fill("select  from x");
  await editor(page).press("Home");
  for (let index = 0; index < 7; index++) await editor(page).press("ArrowRight");
  await panel.getByRole("button", { name: /^launch_delay_ns/ }).click();
  await expect(editor(page)).toHaveValue("select launch_delay_ns from x");
  await panel.getByRole("button", { name: "First 100 rows" }).click();
  await expect(page.getByRole("main")).toContainText("61 rows, in");
  expect(await faults(page)).toEqual([]);
});

test("the columns of an open table have room", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#${RUN}`);
  const list = page.getByRole("region", { name: "List of tables" });
  const height = async () => (await list.boundingBox())?.height ?? 0;
  expect(await height()).toBeLessThan(200);
  await list.getByRole("button", { name: /^raw.device_work/ }).click();
  expect(await height()).toBeGreaterThan(450);
});

test("on a phone suggestions and menus lie within the screen", async ({ guarded: page, standalone }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${standalone.url}#${RUN}`);
  const ends = async (box: Locator) => {
    const { x, width } = (await box.boundingBox()) ?? { x: -1, width: 0 };
    return [x, x + width];
  };
  await editor(page).pressSequentially("select s.na from raw.slices s where s.na");
  expect(await ends(page.locator(".sql-completions"))).toEqual([8, 382]);
  await editor(page).press("Escape");
  await editor(page).press("Control+Enter");
  await page.getByRole("button", { name: "History ▾" }).click();
  const [, end = 0] = await ends(page.locator(".sql-past").getByRole("button", { name: /^Delete from/ }));
  expect(end).toBeGreaterThan(350);
});

test("a text of a megabyte is edited and refused, not painted", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#${RUN}`);
  await expect(page.locator(".sql-painted")).toHaveCount(1);
  // Typing so much line by line takes a browser minutes in any field.
  await editor(page).evaluate((field, text) => {
    Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value")?.set?.call(field, text);
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }, `select ${`${"a, ".repeat(33)}\n`.repeat(10_000)}1`);
  await expect(page.locator(".sql-painted")).toHaveCount(0);
  const started = Date.now();
  await editor(page).press("Control+End");
  await editor(page).press("0");
  expect(Date.now() - started).toBeLessThan(5000);
  await editor(page).press("Control+Enter");
  await expect(page.getByRole("alert")).toContainText(/has 1.000.009 characters; 20.000 are possible/);
  expect(await faults(page)).toEqual([]);
});

test("without DuckDB the page says how to install it", async ({ guarded: page, standalone }) => {
  await page.route("**/sql/tables", async (route) => {
    const answer = (await (await route.fetch()).json()) as SqlTablesAnswer;
    await route.fulfill({ json: { ...answer, missing_reason: "SQL needs DuckDB, which is not installed.", missing_hint: "pip install 'torch-tb-profiler[sql]'" } });
  });
  await page.goto(`${standalone.url}#${hash(TOTALS)}`);
  await expect(card(page, "SQL is not installed")).toContainText("pip install 'torch-tb-profiler[sql]'");
  await expect(editor(page)).toHaveCount(0);
  expect(await faults(page)).toEqual([]);
});

test("inside TensorBoard a link opens the same answer", async ({ guarded: page, board }) => {
  const part = (key: string, value: string) => `p.pytorch_profiler.${key}=${encodeURIComponent(value)}`;
  await page.goto(`${board.url}#pytorch_profiler&${part("run", "h100_bert_small")}&${part("view", "sql")}&${part("query", TOTALS)}`);
  const frame = page.frameLocator("iframe");
  await expect(frame.getByRole("textbox", { name: "Query in SQL" })).toHaveValue(TOTALS);
  await expect(card(frame, "Answer").getByRole("status")).toHaveText("11 rows");
});

test("names of a recording and of a query are text, in tables, charts and suggestions", async ({ guarded: page }) => {
  const evil = '<img src=x onerror="window.__pwned=1"><script>window.__pwned=1</script>';
  const logdir = mkdtempSync(join(tmpdir(), "profiler-sql-"));
  mkdirSync(join(logdir, "run"));
  const event = { ph: "X", pid: 1, tid: 1, cat: "cpu_op", name: evil, ts: 1, dur: 5 };
  writeFileSync(join(logdir, "run", "a.pt.trace.json"), JSON.stringify({ schemaVersion: 1, traceEvents: [event, { ...event, ts: 10, name: "\u202eevil" }] }));
  const server = await serve(logdir);
  const query = `select name, dur_ns, '${evil}' as "${evil.replaceAll('"', '""')}" from raw.slices`;
  await page.goto(`${server.url}#view=sql&form=chart&query=${encodeURIComponent(query)}`);
  await expect(card(page, "Answer")).toContainText("onerror");
  await drawnChart(page, "Duration by Name");
  await expect(card(page, "Answer").locator(".grid-body .grid-cell").first()).toHaveAttribute("title", evil);
  expect((await columnTexts(card(page, "Answer"), 0))[1]).toBe("⟨U+202E⟩evil");
  expect(await page.evaluate(() => (window as { __pwned?: number }).__pwned)).toBeUndefined();
  await page.getByRole("button", { name: "History ▾" }).click();
  await expect(page.locator(".popover")).toContainText("Queries that you run");
  await server.stop();
});
