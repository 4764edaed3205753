/** Jump to source: what a page around us learns, and what it must not. */
import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";

import type { Page } from "@playwright/test";

import { card } from "./tables";
import { expect, test } from "./fixtures";

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

test("a frame is posted to the page around, lines counted from 0", async ({ guarded: page, standalone }) => {
  const { server, url } = await listen(outerPage(standalone.url + OPERATOR));
  await page.goto(url);
  const frame = page.frameLocator("iframe");
  await card(frame, "Operators").getByRole("button", { name: "Open row" }).first().click();
  const link = frame.locator(".frame-link:enabled").first();
  const [, path = "", line = ""] = /^(.*):(\d+)$/.exec((await link.textContent()) ?? "") ?? [];
  await link.click();
  await expect.poll(async () => (await heard(page)).heard).toEqual([{ filename: path, line: Number(line) - 1 }]);
  expect((await heard(page)).refused).toEqual([]);
  server.close();
});

test("inside TensorBoard the outermost page hears it", async ({ guarded: page, board }) => {
  const { server, url } = await listen(outerPage(`${board.url}#pytorch_profiler`));
  await page.goto(url);
  const plugin = page.frameLocator("iframe").frameLocator("iframe");
  await plugin.getByLabel("Run", { exact: true }).selectOption("cpu_resnet_full");
  await plugin.getByRole("link", { name: "Operators" }).click();
  await plugin.getByRole("button", { name: "Name + call stack", exact: true }).click();
  await card(plugin, "Operators").getByRole("button", { name: "Open row" }).first().click();
  await plugin.locator(".frame-link:enabled").first().click();
  await expect.poll(async () => (await heard(page)).heard.length).toBe(1);
  server.close();
});

test("a page of another machine hears nothing", async ({ page, standalone }) => {
  await page.route("http://evil.test/", (route) => route.fulfill({ contentType: "text/html", body: outerPage(standalone.url + OPERATOR) }));
  await page.goto("http://evil.test/");
  const frame = page.frameLocator("iframe");
  await card(frame, "Operators").getByRole("button", { name: "Open row" }).first().click();
  await frame.locator(".frame-link:enabled").first().click();
  await page.waitForTimeout(500);
  expect(await heard(page)).toEqual({ heard: [], refused: [] });
});

test("alone, the editor's address opens, after the path map", async ({ guarded: page, standalone }) => {
  await page.goto(standalone.url + OPERATOR);
  await page.getByRole("button", { name: "Help and settings" }).click();
  await page.getByLabel("Editor").selectOption("cursor");
  await page.getByRole("button", { name: "Close" }).click();
  await page.evaluate(() => {
    const opened: string[] = [];
    Object.assign(window, { opened });
    HTMLAnchorElement.prototype.click = function click(this: HTMLAnchorElement) {
      opened.push(this.href);
    };
  });
  await card(page, "Operators").getByRole("button", { name: "Open row" }).first().click();
  const link = page.locator(".frame-link:enabled").first();
  const place = (await link.textContent()) ?? "";
  await link.click();
  const opened = await page.evaluate(() => (window as unknown as { opened: string[] }).opened);
  expect(opened).toHaveLength(1);
  expect(opened[0]).toMatch(/^cursor:\/\/file\//);
  expect(opened[0]?.endsWith(place.slice(place.lastIndexOf("/") + 1))).toBe(true);
});
