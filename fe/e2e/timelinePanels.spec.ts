/** What stands beside the tracks of the timeline: panels that can be read, menus that close, hits of every rank. */
import type { Page } from "@playwright/test";

import type { TimelineSearchAnswer } from "../src/generated/schema";
import { expect, test } from "./fixtures";
import { ask, longestHit, settled } from "./timelines";

/** Pieces of text in the open panel that lie over each other or beside the panel. */
async function collisions(page: Page): Promise<string[]> {
  return page.locator(".tl-panel .body").evaluate((body) => {
    const edge = body.getBoundingClientRect().right;
    const boxes: { text: string; box: DOMRect }[] = [];
    const texts = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode() !== null) {
      const { currentNode: node } = texts;
      if (node.textContent?.trim() === "" || node.parentElement?.checkVisibility({ visibilityProperty: true }) !== true) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const box of range.getClientRects()) boxes.push({ text: node.textContent ?? "", box });
    }
    const outside = boxes.filter(({ box }) => box.right > edge + 1).map(({ text }) => `outside: ${text}`);
    // Boxes of neighbouring lines touch each other.
    const crosses = (one: DOMRect, other: DOMRect) =>
      Math.min(one.right, other.right) - Math.max(one.left, other.left) > 2 && Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 6;
    const over = boxes.flatMap((one, index) => boxes.slice(index + 1).flatMap((other) => (crosses(one.box, other.box) ? [`${one.text} over ${other.text}`] : [])));
    return [...outside, ...over];
  });
}

for (const { run, name } of [
  { run: "kineto_resnet50_nw0", name: "enumerate(DataLoader)" },
  { run: "h100_bert_small", name: "aten::_scaled_dot_product_flash_attention" },
  { run: "dlrm_8_ranks", name: "ncclKernel_SendRecv" },
]) {
  test(`${run}: nothing in the panels is printed over anything else`, async ({ guarded: page, standalone }) => {
    const { id } = await longestHit(page, standalone.url, run, name);
    for (const [place, heading] of [[`slice=${id}`, name], ["range=1000000-3000000", "Range of"]] as const) {
      await page.goto(`${standalone.url}#run=${run}&view=timeline&${place}`);
      await expect(page.locator(".tl-panel").getByRole("heading", { level: 2 })).toContainText(heading);
      await settled(page);
      for (const width of [1024, 1280, 1440, 2560]) {
        await page.setViewportSize({ width, height: 900 });
        expect(await collisions(page), `${place} at ${width} px`).toEqual([]);
      }
    }
  });
}

test("a call stack that old traces keep as an argument is shown once", async ({ guarded: page, standalone }) => {
  const run = "kineto_resnet50_nw0";
  const { id } = await longestHit(page, standalone.url, run, "enumerate(DataLoader)");
  await page.goto(`${standalone.url}#run=${run}&view=timeline&slice=${id}`);
  const panel = page.locator(".tl-panel");
  await expect(panel.locator(".stack li")).not.toHaveCount(0);
  await expect(panel.getByText("dataloader.py")).toHaveCount(1);
});

test("Escape closes the menu, then the keys, then the panel", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=kineto_resnet50_nw0&view=timeline&range=111826785-112495856`);
  await settled(page);
  const menu = page.locator(".popover");
  const panel = page.locator(".tl-panel");
  await page.getByRole("button", { name: "Colours" }).click();
  await expect(menu).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(menu).toHaveCount(0);
  await expect(panel).toBeVisible();

  // A click on its text takes the focus away from the menu.
  await page.keyboard.press("?");
  await page.getByRole("button", { name: "Colours" }).click();
  await menu.getByText("Communication").click();
  await page.keyboard.press("Escape");
  await expect(menu).toHaveCount(0);
  await expect(page.locator(".tl-help")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.locator(".tl-help")).toHaveCount(0);
  await expect(panel).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(panel).toHaveCount(0);
});

test("without a device nothing is said to have taken 0 µs there", async ({ guarded: page, standalone }) => {
  const run = "cpu_resnet_full";
  const { id } = await longestHit(page, standalone.url, run, "aten::conv2d");
  await page.goto(`${standalone.url}#run=${run}&view=timeline&slice=${id}`);
  const time = (title: string) => page.locator(".tl-panel dt", { hasText: title }).locator("+ dd");
  for (const title of ["Device total", "Device self"]) {
    await expect(time(title)).toHaveText("–");
    await expect(time(title).locator("span")).toHaveAttribute("title", /no device work/);
  }
  await expect(time("Duration")).toContainText(/\d .s/);
});

test("hits of stacked ranks are walked through in the order of their clock", async ({ guarded: page, standalone }) => {
  const others = ["worker1_step_12", "worker7_step_12"];
  const counts = await Promise.all(
    ["worker0_step_12", ...others].map(async (worker) => (await ask<TimelineSearchAnswer>(page, `${standalone.url}api/timeline/search?run=dlrm_8_ranks&worker=${worker}&q=SendRecv`)).count),
  );
  const total = counts.reduce((sum, count) => sum + count, 0);
  await page.goto(`${standalone.url}#run=dlrm_8_ranks&view=timeline&stack=${others.join(",")}&find=SendRecv`);
  const count = page.locator(".tl-count");
  const worker = page.locator(".tl-panel dt", { hasText: "Worker" }).locator("+ dd");
  // The collective ends at once everywhere: the rank that waits longest began first.
  const expected = ["worker1_step_12", "worker0_step_12", "worker7_step_12"];
  for (const [index, name] of expected.entries()) {
    await expect(count).toHaveText(`${index + 1} of ${total}`);
    await expect(worker).toHaveText(name);
    await settled(page);
    await page.keyboard.press("n");
  }
  await expect(count).toHaveText(`4 of ${total}`);
  await settled(page);
  await page.keyboard.press("N");
  await expect(worker).toHaveText("worker7_step_12");
  await expect(count).toHaveText(`3 of ${total}`);
});

test("the timeline is there again after many slices were looked at", async ({ guarded: page, standalone }) => {
  const hash = (slice: number) => `#run=kineto_resnet50_nw0&view=timeline&slice=${slice}`;
  await page.goto(`${standalone.url}${hash(0)}`);
  await settled(page);
  for (let slice = 1; slice <= 35; slice++) {
    const told = page.waitForResponse((response) => response.url().includes(`/slice/${slice}?`));
    await page.evaluate((next) => window.location.assign(next), hash(slice));
    await told;
  }
  const rail = page.getByRole("navigation", { name: "Views" });
  await rail.getByRole("link", { name: "Overview" }).click();
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
  await rail.getByRole("link", { name: "Timeline" }).click();
  await expect(page.locator(".tl-rects")).toBeVisible();
});
