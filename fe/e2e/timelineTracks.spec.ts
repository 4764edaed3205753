/** Tracks of the timeline arranged by mouse and by keys: pinned, moved, filtered, opened and closed; a reload shows the same. */
import type { Page } from "@playwright/test";

import type { TimelineTracksAnswer } from "../src/generated/schema";
import { expect, test } from "./fixtures";
import { getJson, settled } from "./timelines";

const RUN = "dlrm_8_ranks";

/** Keys of the rows, from above; a group's begins with `g.` */
const rows = (page: Page) => page.locator("[data-row]").evaluateAll((heads) => heads.toSorted((one, other) => one.getBoundingClientRect().top - other.getBoundingClientRect().top).map((head) => head.getAttribute("data-row") ?? ""));

async function open(page: Page, base: string, more = ""): Promise<TimelineTracksAnswer> {
  await page.goto(`${base}#run=${RUN}&view=timeline${more}`);
  await settled(page);
  return getJson<TimelineTracksAnswer>(page, `${base}api/timeline/tracks?run=${RUN}`);
}

test("a pinned track stays on top while others scroll, and after a reload", async ({ guarded: page, standalone }) => {
  const { tracks } = await open(page, standalone.url);
  const stream = tracks.findLast(({ kind }) => kind === "device_stream")?.key ?? "";
  const head = page.locator(`[data-row="${stream}"]`);
  await head.getByRole("button", { name: "Pin to the top" }).focus();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`pin=${stream}(&|$)`));
  expect((await rows(page))[0]).toBe(stream);
  const top = async () => (await head.boundingBox())?.y ?? NaN;
  const before = await top();
  await page.locator(".tl-stage").hover();
  await page.mouse.wheel(0, 400);
  await page.reload();
  await settled(page);
  await page.locator(".tl-stage").hover();
  await page.mouse.wheel(0, 400);
  await expect.poll(async () => (await page.locator('[data-row="steps"]').boundingBox())?.y).toBeLessThan(before);
  expect(await top()).toBe(before);
  // Its slices are under the pointer there, not those of what is scrolled below.
  const stage = await page.locator(".tl-stage").boundingBox();
  const hovered = async () => {
    for (let x = 20; x < (stage?.width ?? 0); x += 7) {
      await page.mouse.move((stage?.x ?? 0) + x, before + 10);
      if ((await page.locator(".tl-card").count()) > 0) return page.locator(".tl-card").innerText();
    }
    return "";
  };
  expect(await hovered()).toMatch(/slices|kernel|memcpy|memset|communication/i);
  await head.getByRole("button", { name: "Pin to the top" }).click();
  await expect(page).not.toHaveURL(/pin=/);
});

test("tracks and groups are moved by keys and by dragging", async ({ guarded: page, standalone }) => {
  await open(page, standalone.url);
  const groups = async () => (await rows(page)).filter((key) => key.startsWith("g."));
  const [first = "", second = ""] = await groups();
  await page.locator(`[data-row="${first}"]`).getByRole("button").focus();
  await page.keyboard.press("Alt+ArrowDown");
  expect((await groups()).slice(0, 2)).toEqual([second, first]);
  await expect(page.locator("[aria-live=polite]").filter({ hasText: "moved below" })).toHaveCount(1);
  await page.reload();
  await settled(page);
  expect((await groups()).slice(0, 2)).toEqual([second, first]);

  await page.getByRole("button", { name: "Close all tracks" }).click();
  const [from, to] = [await page.locator(`[data-row="${first}"]`).boundingBox(), await page.locator(`[data-row="${second}"]`).boundingBox()];
  if (from === null || to === null) throw new Error("no heads");
  await page.mouse.move(from.x + 60, from.y + 10);
  await page.mouse.down();
  await page.mouse.move(to.x + 60, to.y + 10, { steps: 5 });
  await expect(page.locator(".tl-drop")).toBeVisible();
  await page.mouse.up();
  expect((await groups()).slice(0, 2)).toEqual([first, second]);
  await expect(page.locator(`[data-row="${first}"] .tl-fold`), "a drag is no click").toHaveAttribute("aria-expanded", "false");
  await expect(page).not.toHaveURL(/order=/);
});

test("a filter shows matching tracks; all open and close at once", async ({ guarded: page, standalone }) => {
  await open(page, standalone.url, "&folds=none");
  const closed = await rows(page);
  expect(closed.every((key) => key.startsWith("g.") || key === "steps")).toBe(true);
  await page.getByLabel("Filter tracks by name").fill("stream");
  await expect(page).toHaveURL(/tracks=stream/);
  await expect.poll(async () => (await rows(page)).length).toBeGreaterThan(0);
  for (const key of await rows(page)) expect(await page.locator(`[data-row="${key}"]`).innerText()).toMatch(/stream|GPU/i);
  await page.reload();
  await settled(page);
  await expect(page.getByLabel("Filter tracks by name")).toHaveValue("stream");
  await page.getByLabel("Filter tracks by name").fill("no such track");
  await expect(page.getByText("No track matches the filter.")).toBeVisible();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Open all tracks" }).click();
  await expect.poll(async () => (await rows(page)).length).toBeGreaterThan(closed.length);
  await expect(page.locator('.tl-fold[aria-expanded="false"]')).toHaveCount(0);
});

test("going to a slice of a filtered track shows it", async ({ guarded: page, standalone }) => {
  await open(page, standalone.url, "&tracks=steps");
  await page.keyboard.press("/");
  await page.keyboard.type("ncclKernel_SendRecv");
  await page.keyboard.press("Enter");
  await expect(page.locator(".tl-panel")).toBeVisible();
  await expect(page).not.toHaveURL(/tracks=/);
});

test("the column of names and the panel are resized by dragging and by keys, and stay so", async ({ guarded: page, standalone }) => {
  await open(page, standalone.url);
  const width = async () => (await page.locator(".tl-heads").boundingBox())?.width ?? 0;
  const before = await width();
  const splitter = page.getByRole("separator", { name: "Width of the names" });
  await splitter.focus();
  for (let time = 0; time < 3; time++) await page.keyboard.press("ArrowRight");
  await expect.poll(width).toBe(before + 48);
  const box = await splitter.boundingBox();
  await page.mouse.move((box?.x ?? 0) + 2, (box?.y ?? 0) + 200);
  await page.mouse.down();
  await page.mouse.move((box?.x ?? 0) + 102, (box?.y ?? 0) + 210, { steps: 4 });
  await page.mouse.up();
  await expect.poll(width).toBe(before + 148);
  await page.reload();
  await settled(page);
  expect(await width()).toBe(before + 148);

  await page.locator(".tl-stage").focus();
  await page.keyboard.press("ArrowRight");
  const panel = page.locator(".tl-panel");
  await expect(panel).toBeVisible();
  const height = async () => (await panel.boundingBox())?.height ?? 0;
  await page.waitForLoadState("networkidle");
  const high = await height();
  await page.getByRole("separator", { name: "Height of the panel" }).focus();
  for (let time = 0; time < 3; time++) await page.keyboard.press("ArrowUp");
  await expect.poll(height).toBeGreaterThan(high + 30);
});

test("another recording is drawn below, both from the start of a step", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=h100_bert_small&view=timeline`);
  await settled(page);
  await page.getByRole("button", { name: "Stack" }).click();
  await page.getByLabel("Recording below this one").selectOption({ label: "mi300_bert_small · rank0 · default" });
  await page.getByLabel("Zero of this one: step").fill("6");
  await page.getByLabel("Zero of the other: step").fill("6");
  await page.getByRole("button", { name: "Show", exact: true }).click();
  await expect(page).toHaveURL(/below=mi300_bert_small/);
  await expect(page.locator(".tl-heads").getByText("mi300_bert_small · rank0")).toBeVisible();
  await expect(page.locator(".tl-heads").getByText("h100_bert_small · rank0")).toBeVisible();
  await expect(page.locator(".tl-problem")).toHaveCount(0);
  // A step that is not there is said, and the recording of the page stays.
  await page.goto("about:blank");
  await page.goto(`${standalone.url}#run=h100_bert_small&view=timeline&below=mi300_bert_small:rank0:default&zeros=6,999`);
  await expect(page.locator(".tl-problem")).toContainText("mi300_bert_small is not drawn");
  await expect(page.locator(".tl-head").first()).toBeVisible();
});
