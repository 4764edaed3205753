/** Jump to source: what a page around us learns, and what it must not. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Frame, Page } from "@playwright/test";

import { chooseTrace } from "./picker";
import { card } from "./tables";
import { expect, test } from "./fixtures";
import { goTo } from "./pages";
import { serve } from "./servers";

/** The page of an editor: a frame, and a listener that trusts only the origin it serves. */
function outerPage(inner: string): string {
  return `<!doctype html><script>
    window.heard = [];
    window.refused = [];
    addEventListener("message", (event) => {
      (event.origin === new URL(${JSON.stringify(inner)}).origin ? window.heard : window.refused).push(event.data);
    });
  </script><iframe src="${inner}" style="width:1200px;height:850px"></iframe>`;
}

async function listen(html: string): Promise<{ server: HttpServer; url: string }> {
  const server = createServer((_request, response) => response.setHeader("content-type", "text/html").end(html));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  // Another port is another origin; another host name would also be another site, where TensorBoard may not store.
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

interface Heard {
  readonly heard: unknown[];
  readonly refused: unknown[];
}

function heard(page: Page): Promise<Heard> {
  return page.evaluate(() => {
    const { heard: yes, refused: no } = window as unknown as Heard;
    return { heard: yes, refused: no };
  });
}

const OPERATOR = "#run=cpu_resnet_full&view=operators&group_by=name%2Bcall_stack&operators.q=aten::conv2d";

test("a frame is posted to the embedding page, lines counted from 0", async ({ guarded: page, standalone }) => {
  const { server, url } = await listen(outerPage(standalone.url + OPERATOR));
  await page.goto(url);
  const frame = page.frameLocator("iframe");
  await card(frame, "Operators").getByRole("button", { name: "Open row" }).first().click();
  const link = frame.locator(".stack .frame-link:enabled").first();
  const [, path = "", line = ""] = /^(.*):(\d+)$/.exec((await link.textContent()) ?? "") ?? [];
  await link.click();
  await expect.poll(async () => (await heard(page)).heard).toEqual([{ filename: path, line: Number(line) - 1 }]);
  expect((await heard(page)).refused).toEqual([]);
  server.close();
});

test("inside TensorBoard the outermost page receives it", async ({ guarded: page, board }) => {
  const { server, url } = await listen(outerPage(`${board.url}#pytorch_profiler`));
  await page.goto(url);
  const plugin = page.frameLocator("iframe").frameLocator("iframe");
  await chooseTrace(plugin, "cpu_resnet_full");
  await goTo(plugin, "operators", "call_stack");
  // A row of the grouping before closes when the rows of this one arrive.
  await expect(async () => {
    await card(plugin, "Operators").getByRole("button", { name: "Open row" }).first().click();
    await expect(plugin.locator(".stack .frame-link:enabled").first()).toBeVisible({ timeout: 3000 });
  }).toPass();
  await plugin.locator(".stack .frame-link:enabled").first().click();
  await expect.poll(async () => (await heard(page)).heard.length).toBe(1);
  server.close();
});

/** From now on the page notes which addresses it would open, instead of opening them. */
async function noteOpened(frame: Frame): Promise<() => Promise<string[]>> {
  await frame.evaluate(() => {
    const opened: string[] = [];
    Object.assign(window, { opened });
    HTMLAnchorElement.prototype.click = function click(this: HTMLAnchorElement) {
      opened.push(this.href);
    };
  });
  return () => frame.evaluate(() => (window as unknown as { opened: string[] }).opened);
}

test("a page of another machine receives nothing", async ({ page, standalone }) => {
  await page.addInitScript(() => localStorage.setItem("torch-tb-profiler.editor", JSON.stringify({ relativeTo: "/venv" })));
  await page.route("http://evil.test/", (route) => route.fulfill({ contentType: "text/html", body: outerPage(standalone.url + OPERATOR) }));
  await page.goto("http://evil.test/");
  const frame = page.frameLocator("iframe");
  await card(frame, "Operators").getByRole("button", { name: "Open row" }).first().click();
  const link = frame.locator(".stack .frame-link:enabled").first();
  await expect(link).toBeVisible();
  const inner = page.frames().find((each) => each.url().startsWith(standalone.url));
  if (inner === undefined) throw new Error("no frame");
  const opened = await noteOpened(inner);
  await link.click();
  // The jump was made, by the editor's own address; a message would have gone out before.
  await expect.poll(opened).toHaveLength(1);
  expect(await heard(page)).toEqual({ heard: [], refused: [] });
});

test("standalone, the editor's URL opens with mapped path; path and line are copied", async ({ guarded: page, standalone }) => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(standalone.url + OPERATOR);
  await card(page, "Operators").getByRole("button", { name: "Open row" }).first().click();
  const link = page.locator(".stack .frame-link:enabled").first();
  const [, folder = "", rest = ""] = /^(.*?)\/(.*:\d+)$/.exec((await link.textContent()) ?? "") ?? [];
  expect(folder).not.toBe("");
  await page.getByRole("button", { name: "Help and settings" }).click();
  await page.getByLabel("Editor").selectOption("cursor");
  await page.getByLabel("Path prefix in the trace").fill(folder);
  await page.getByLabel("Path prefix on this machine").fill("/home/me/src");
  await page.getByRole("button", { name: "Close", exact: true }).click();
  const opened = await noteOpened(page.mainFrame());
  await link.click();
  await expect.poll(opened).toEqual([`cursor://file/home/me/src/${rest}`]);
  await link.hover();
  await page.locator(".stack li").filter({ has: page.locator(".frame-link:enabled") }).first().getByRole("button", { name: "copy" }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(`/home/me/src/${rest}`);
});

test("another editor opens by its URL; an unknown scheme is refused", async ({ guarded: page, standalone }) => {
  await page.goto(standalone.url + OPERATOR);
  await card(page, "Operators").getByRole("button", { name: "Open row" }).first().click();
  const link = page.locator(".frame-link").filter({ hasText: /^torch\// }).first();
  const frame = (await link.textContent()) ?? "";
  const opened = await noteOpened(page.mainFrame());
  await page.getByRole("button", { name: "Help and settings" }).click();
  const help = page.getByRole("dialog", { name: "Help and settings" });
  await help.getByLabel("Editor").selectOption("template");
  await help.getByLabel("Folder of relative paths").fill("/venv");
  const address = help.getByRole("textbox", { name: "URL template" });
  await address.fill("javascript:alert({path})");
  await expect(address).toHaveAttribute("aria-invalid", "true");
  await expect(help.getByRole("status").filter({ hasText: "“javascript:” is not the scheme" })).toBeVisible();
  await expect(link).toBeDisabled();
  await address.fill("zed://file{path}:{line}:{column}");
  await help.getByRole("button", { name: "Close", exact: true }).click();
  await link.click();
  expect(await opened()).toEqual([`zed://file/venv/${frame}:1`]);
  // A remote of VS Code is another address of the same line.
  await page.getByRole("button", { name: "Help and settings" }).click();
  await help.getByLabel("Editor").selectOption("vscode-remote");
  await help.getByRole("textbox", { name: "Remote" }).fill("gpu7");
  await help.getByRole("button", { name: "Close", exact: true }).click();
  await link.click();
  expect((await opened()).at(-1)).toBe(`vscode://vscode-remote/ssh-remote+gpu7/venv/${frame}`);
});

test("a relative path asks for its folder, and opens there from then on", async ({ guarded: page, standalone }) => {
  await page.goto(standalone.url + OPERATOR);
  await card(page, "Operators").getByRole("button", { name: "Open row" }).first().click();
  const link = page.locator(".stack .frame-link:enabled").filter({ hasText: /^torch\// }).first();
  const frame = (await link.textContent()) ?? "";
  const opened = await noteOpened(page.mainFrame());
  await link.click();
  const dialog = page.getByRole("dialog", { name: "Relative path" });
  await expect(dialog).toContainText(frame);
  await expect(dialog.getByRole("button", { name: `Copy ${frame}` })).toHaveText("Copy path:line");
  await expect(dialog.getByRole("button", { name: "Open" })).toBeDisabled();
  expect(await opened()).toEqual([]);
  await dialog.getByLabel("Folder of relative paths").fill("/venv/lib/site-packages/");
  await dialog.getByRole("button", { name: "Open" }).click();
  await dialog.getByRole("button", { name: "Close" }).click();
  await link.click();
  await expect(dialog).toHaveCount(0);
  expect(await opened()).toEqual(Array(2).fill(`vscode://file/venv/lib/site-packages/${frame}`));
});

test("a frame without a line cannot be sent", async ({ guarded: page }) => {
  const logdir = mkdtempSync(join(tmpdir(), "profiler-source-"));
  const args = { "Call stack": "model.py(0): forward;train.py(1): step", "Input Dims": [] };
  const event = { ph: "X", cat: "cpu_op", name: "aten::add", pid: 1, tid: 1, ts: 1, dur: 10, args };
  writeFileSync(join(logdir, "w.pt.trace.json"), JSON.stringify({ schemaVersion: 1, traceEvents: [event] }));
  const inner = await serve(logdir);
  const { server, url } = await listen(outerPage(`${inner.url}#view=operators&group_by=name%2Bcall_stack`));
  await page.goto(url);
  const frame = page.frameLocator("iframe");
  await card(frame, "Operators").getByRole("button", { name: "Open row" }).first().click();
  await expect(frame.getByRole("button", { name: "model.py:0" })).toBeDisabled();
  await frame.getByRole("button", { name: "train.py:1" }).click();
  await expect.poll(async () => (await heard(page)).heard).toEqual([{ filename: "train.py", line: 0 }]);
  server.close();
  await inner.stop();
});

test("from a finding to the line of source in three clicks", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=h100_bert_small`);
  // 1: its rows, sorted by what it is about. 2: the first of them. 3: the innermost frame with a file.
  await page.locator(".findings > li").first().getByRole("link", { name: "Which rows" }).click();
  const rows = page.locator("[data-table=gaps]");
  await expect(rows).toBeInViewport();
  await rows.getByRole("button", { name: "Open row" }).first().click();
  const frame = page.locator(".stack .frame-link:enabled").first();
  await expect(frame).toHaveText(/\.py:\d+$/);
  await expect(frame).toBeInViewport();
});

test("from a kernel to the operator that launches it, and on to the line of source", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=h100_bert_small&view=kernels`);
  await card(page, "Kernels").getByRole("button", { name: "Open row" }).first().click();
  // The call stack of the operator is in the row too.
  await expect(page.locator(".stack .frame-link").first()).toHaveText(/\.py:\d+$/);
  await page.getByText("Launched by").getByRole("link", { name: "aten::addmm" }).click();
  await expect(page).toHaveURL(/view=operators.*operators\.filter=name%3Daten::addmm/);
  await expect(card(page, "Operators").getByRole("status").first()).toContainText("showing 1 of");
  await expect(page.locator(".stack .frame-link").first()).toHaveText(/\.py:\d+$/);
  await goBackTo(page, "Kernels");
  await page.getByRole("link", { name: /^Which operators launch / }).click();
  await expect(page).toHaveURL(/view=kernels&group_by=name%2Boperator%2Blaunch/);
});

async function goBackTo(page: Page, title: string): Promise<void> {
  await page.goBack();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(title);
}
