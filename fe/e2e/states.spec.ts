/** Empty, broken, still being read, missing: each state has its message. */
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { chooseTrace } from "./picker";
import { expect, test } from "./fixtures";
import { goTo } from "./pages";
import { serve } from "./servers";

function folder(): string {
  return mkdtempSync(join(tmpdir(), "profiler-states-"));
}

test("an empty folder shows how to record a trace", async ({ guarded: page }) => {
  const server = await serve(folder());
  await page.goto(server.url);
  await expect(page.getByRole("heading", { name: "No profiler trace here yet" })).toBeVisible();
  await expect(page.getByText("from torch.profiler import")).toBeVisible();
  await server.stop();
});

test("a broken file is a card with file, cause and next step; the others work", async ({ guarded: page }) => {
  const logdir = folder();
  mkdirSync(join(logdir, "bad"));
  mkdirSync(join(logdir, "good"));
  writeFileSync(join(logdir, "bad", "w.pt.trace.json"), "<!doctype html><p>Please log in</p>");
  const event = { ph: "X", cat: "cpu_op", name: "aten::add", pid: 1, tid: 1, ts: 1, dur: 10 };
  writeFileSync(join(logdir, "good", "w.pt.trace.json"), JSON.stringify({ schemaVersion: 1, traceEvents: [event] }));
  const server = await serve(logdir);
  await page.goto(`${server.url}#run=bad`);
  const failed = page.getByRole("alert");
  await expect(failed).toContainText("w.pt.trace.json");
  await expect(failed).toContainText("Cause");
  await expect(failed).toContainText("Next step");
  await chooseTrace(page, "good");
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
  // What the page still fetches, its charts' code, would miss the server.
  await page.waitForLoadState("networkidle");
  await server.stop();
});

test("while a trace is read the page shows the progress", async ({ guarded: page, standalone }) => {
  const span = {
    name: "1",
    file: "w.pt.trace.json",
    format: "kineto",
    size_bytes: 40 * 1024 * 1024,
    state: "parsing",
    progress: 0.42,
    mb_per_s: 120.4,
    eta_s: 3,
    error: null,
    retry_s: null,
  };
  let reading = true;
  await page.route("**/api/views?*", (route) =>
    reading ? route.fulfill({ status: 202, json: { schema_version: 1, span } }) : route.continue(),
  );
  await page.goto(`${standalone.url}#run=kineto_resnet50_nw0`);
  await expect(page.getByText("42 % of 40.0 MiB, 120 MB/s, 3 s left")).toBeVisible();
  await expect(page.getByRole("progressbar")).toHaveAttribute("aria-valuenow", "42");
  reading = false;
  await expect(page.locator(".answer")).toBeVisible();
});

test("a link to a missing run says so", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=gone`);
  await expect(page.getByRole("alert")).toContainText("run “gone”");
});

test("a server that does not answer is reported, and retried", async ({ guarded: page, standalone }) => {
  let down = true;
  await page.route("**/api/runs", (route) => (down ? route.abort() : route.continue()));
  await page.goto(standalone.url);
  await expect(page.getByRole("alert")).toContainText("does not answer");
  down = false;
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
});

test("a location that does not answer is reported above its traces, until it is back", async ({ guarded: page, standalone }) => {
  let silent = true;
  await page.route("**/api/runs", async (route) => {
    const response = await route.fetch();
    const runs = (await response.json()) as object;
    const error = { code: "unreachable", message: "s3://traces/team cannot be read: no answer within 20 s.", hint: null };
    const silent_places = silent ? [{ place: "s3://traces/team", silent_s: 125, next_try_s: 8, error }] : [];
    await route.fulfill({ response, json: { ...runs, silent_places } });
  });
  await page.goto(standalone.url);
  const status = page.getByRole("status").filter({ hasText: "No answer from s3://traces/team since" });
  await expect(status).toContainText("(2 min). Next try in 8 s.");
  await expect(status).toContainText("no answer within 20 s");
  await expect(status.getByRole("timer")).toContainText("Next try in 6 s.");
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
  silent = false;
  await expect(status).toBeHidden();
});

test("when the server stops answering the page stays as it was", async ({ guarded: page, standalone }) => {
  let down = false;
  await page.route("**/api/runs", (route) => (down ? route.abort() : route.continue()));
  await page.goto(standalone.url);
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
  down = true;
  const status = page.getByRole("status").filter({ hasText: "No answer from the server since" });
  await expect(status).toContainText("Next try in");
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
  down = false;
  await expect(status).toBeHidden();
});

test("a rewritten file is loaded again, also when it has the same size", async ({ guarded: page }) => {
  const logdir = folder();
  const write = (name: string) => {
    const event = { ph: "X", cat: "cpu_op", name, pid: 1, tid: 1, ts: 1, dur: 10 };
    writeFileSync(join(logdir, "w.pt.trace.json"), JSON.stringify({ schemaVersion: 1, traceEvents: [event] }));
  };
  write("aten::add");
  const server = await serve(logdir);
  await page.goto(`${server.url}#view=operators`);
  const rows = page.locator("[data-table=operators]");
  await expect(rows.getByText("aten::add")).toBeVisible();
  write("aten::mul");
  await expect(rows.getByText("aten::mul")).toBeVisible({ timeout: 30_000 });
  await expect(rows.getByText("aten::add")).toBeHidden();
  await server.stop();
});

test("a page whose code cannot be fetched is a card; the others go on", async ({ guarded: page, standalone }) => {
  await page.route("**/TimelineView-*.js", (route) => route.abort());
  await page.goto(`${standalone.url}#run=kineto_resnet50_nw0&view=timeline`);
  await expect(page.getByRole("alert")).toContainText("This page cannot be shown");
  await goTo(page, "operators");
  await expect(page.getByRole("heading", { name: "Operators" }).first()).toBeVisible();
});
