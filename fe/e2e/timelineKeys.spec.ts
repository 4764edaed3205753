/** The timeline without a mouse, and ways back: keys, what a screen reader hears, undone zooms, Back, hovering. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import type { TimelineFlowsAnswer, TimelineSearchAnswer, TimelineTracksAnswer } from "../src/generated/schema";
import { addressed, lengthOf, rested } from "./addressed";
import { expect, test } from "./fixtures";
import { serve } from "./servers";
import { getJson, longestHit, settled } from "./timelines";

const RUN = "kineto_resnet50_nw0";
const KERNEL = "volta_sgemm_64x64_nt";

const announcement = (page: Page) => page.locator(".tl-said[aria-live=polite]");

test("the whole timeline by keyboard only", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=${RUN}&view=timeline`);
  await settled(page);
  const stage = page.locator(".tl-stage");
  const box = await stage.boundingBox();
  if (box === null) throw new Error("no stage");
  const edge = () => page.screenshot({ clip: { x: box.x, y: box.y + 60, width: 2, height: 40 } });
  const unfocused = await edge();
  // From the first control of the page on, Tab leads to the stage, and on from it.
  await expect(async () => {
    await page.keyboard.press("Tab");
    await expect(stage).toBeFocused({ timeout: 50 });
  }).toPass({ intervals: [20] });
  await expect(stage).toHaveCSS("outline-style", "solid");
  expect(unfocused.equals(await edge()), "the tracks hide the mark of the focus").toBe(false);
  await page.keyboard.press("ArrowRight");
  await expect(page).toHaveURL(/slice=\d+/);
  await expect(announcement(page)).toContainText(/, .*(s|ms|µs), .*starts at/);
  const first = page.url();
  await page.keyboard.press("ArrowRight");
  await expect(page).not.toHaveURL(first);
  await page.keyboard.press("ArrowDown");
  await expect(announcement(page)).toContainText("thread");
  const narrow = async (key: string) => {
    await page.keyboard.down(key);
    await page.waitForTimeout(400);
    await page.keyboard.up(key);
    return rested(page);
  };
  const { tracks, end_ns: endNs } = await getJson<TimelineTracksAnswer>(page, `${standalone.url}api/timeline/tracks?run=${RUN}`);
  expect(lengthOf(await narrow("w"))).toBeLessThan(endNs);
  await expect(announcement(page)).toContainText("on screen");
  await page.keyboard.press("f");
  await rested(page);
  await page.keyboard.press("p");
  await expect(page).toHaveURL(new RegExp(`pin=(${tracks.map(({ key }) => key).join("|")})(&|$)`));
  await page.keyboard.press("Enter");
  await expect(page.locator(".tl-panel-slot")).toBeFocused();
  await page.keyboard.press("Tab");
  expect(await page.evaluate(() => document.activeElement?.closest(".tl-panel-slot") !== null)).toBe(true);
  await page.keyboard.press("Escape");
  await expect(stage).toBeFocused();
  await page.keyboard.press("m");
  await expect(page).toHaveURL(/range=\d+-\d+/);
  await expect(page.locator(".tl-panel")).toContainText("Time by category");
  await page.keyboard.press("/");
  await page.keyboard.type(KERNEL);
  await page.keyboard.press("Enter");
  await expect(announcement(page)).toContainText(/sgemm/);
  await page.keyboard.press("Escape");
  await expect(stage).toBeFocused();
  // No trap: Tab moves on.
  await page.keyboard.press("Tab");
  await expect(stage).not.toBeFocused();
});

test("Enter typed at once jumps when the answer arrives", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=${RUN}&view=timeline`);
  await settled(page);
  let answer: () => void = () => undefined;
  const held = new Promise<void>((done) => (answer = done));
  await page.route("**/timeline/search?**", async (route) => {
    await held;
    await route.continue();
  });
  await page.keyboard.press("/");
  await page.keyboard.type(KERNEL);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/find=/);
  await expect(page).not.toHaveURL(/slice=/);
  answer();
  await expect(page).toHaveURL(/slice=\d+/);
});

test("hits whose names are shortened in tiles are highlighted; other slices are dimmed", async ({ guarded: page }) => {
  const folder = mkdtempSync(join(tmpdir(), "profiler-timeline-"));
  const long = `aten::${"very_".repeat(60)}long`;
  const slice = (name: string, ts: number) => ({ ph: "X", pid: 1, tid: 1, cat: "cpu_op", name, ts, dur: 40 });
  writeFileSync(join(folder, "w.pt.trace.json"), JSON.stringify({ traceEvents: [slice(`${long}_first`, 0), slice("aten::mm", 50), slice(`${long}_last`, 100)] }));
  const server = await serve(folder);
  try {
    const colors = () =>
      page.evaluate(() => {
        const canvas = document.querySelector<HTMLCanvasElement>(".tl-rects");
        const head = document.querySelector(".tl-head[data-track]");
        if (canvas === null || head === null) return [];
        const y = head.getBoundingClientRect().top - canvas.getBoundingClientRect().top + 5;
        return [0.03, 0.37, 0.74].map((share) => Array.from(canvas.getContext("2d")?.getImageData(share * canvas.width, y, 1, 1).data ?? []).join(" "));
      });
    await page.goto(`${server.url}#view=timeline&at=0-140000`);
    await settled(page);
    const [first, other, last] = await colors();
    await page.goto("about:blank");
    await page.goto(`${server.url}#view=timeline&at=0-140000&slice=2&find=${encodeURIComponent("long_last")}`);
    await settled(page);
    await expect.poll(async () => (await colors())[1]).not.toBe(other);
    const newColors = await colors();
    expect(newColors[2], "the hit keeps its colour").toBe(last);
    expect(newColors[0], "another one of the same beginning does not").not.toBe(first);
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a double click zooms to the slice, z and a double click outside slices undo, Shift + z redoes", async ({ guarded: page, standalone }) => {
  const slice = await longestHit(page, standalone.url, RUN, KERNEL);
  const at = [Math.round(slice.start_ns - 2 * slice.dur_ns), Math.round(slice.start_ns + 3 * slice.dur_ns)] as const;
  await page.goto(`${standalone.url}#run=${RUN}&view=timeline&at=${at[0]}-${at[1]}`);
  await settled(page);
  const stage = await page.locator(".tl-stage").boundingBox();
  const head = await page.locator(`[data-track="${slice.track}"]`).boundingBox();
  if (stage === null || head === null) throw new Error("not on the page");
  const point = { x: stage.x + stage.width / 2, y: head.y + 3 + slice.lane * 18 + 9 };
  await page.mouse.dblclick(point.x, point.y);
  await expect.poll(() => lengthOf(addressed(page))).toBeLessThan(1.5 * slice.dur_ns);
  const zoomed = await rested(page);
  await expect(page).toHaveURL(new RegExp(`slice=${slice.id}(&|$)`));
  await page.keyboard.press("z");
  await expect.poll(() => lengthOf(addressed(page))).toBe(at[1] - at[0]);
  await page.keyboard.press("Shift+Z");
  await expect.poll(() => lengthOf(addressed(page))).toBe(lengthOf(zoomed));
  // Beside the name of a group there are no slices.
  const groups = await page.locator(".tl-group").evaluateAll((heads) => heads.map((each) => each.getBoundingClientRect().y));
  const emptyY = groups.find((y) => y > stage.y + 40 && y < stage.y + 300) ?? NaN;
  await page.mouse.dblclick(stage.x + stage.width / 2, emptyY + 12);
  await expect.poll(() => lengthOf(addressed(page))).toBe(at[1] - at[0]);
});

test("Back stays on the timeline until it is as it was opened", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=${RUN}&view=kernels`);
  await page.getByRole("link", { name: "Timeline" }).click();
  await settled(page);
  await page.locator(".tl-stage").hover();
  await page.keyboard.down("w");
  await page.waitForTimeout(500);
  await page.keyboard.up("w");
  await rested(page);
  await page.keyboard.press("ArrowRight");
  await expect(page).toHaveURL(/slice=/);
  await page.goBack();
  await expect(page).toHaveURL(/view=timeline$/);
  await expect(page.locator(".tl-panel")).toHaveCount(0);
  await page.waitForTimeout(600);
  await expect(page, "and nothing is written over it").toHaveURL(/view=timeline$/);
  await page.goBack();
  await expect(page).toHaveURL(/view=kernels/);
  await page.goForward();
  await page.goForward();
  await expect(page).toHaveURL(/at=.*slice=|slice=.*at=/);
});

test("the hover card follows when the tracks are scrolled or zoomed under the pointer", async ({ guarded: page, standalone }) => {
  const slice = await longestHit(page, standalone.url, RUN, KERNEL);
  const at = [Math.round(slice.start_ns - 2 * slice.dur_ns), Math.round(slice.start_ns + 3 * slice.dur_ns)] as const;
  await page.goto(`${standalone.url}#run=${RUN}&view=timeline&at=${at[0]}-${at[1]}`);
  await settled(page);
  const stage = await page.locator(".tl-stage").boundingBox();
  const head = await page.locator(`[data-track="${slice.track}"]`).boundingBox();
  if (stage === null || head === null) throw new Error("not on the page");
  await page.mouse.move(stage.x + stage.width / 2, head.y + 3 + slice.lane * 18 + 9);
  const card = page.locator(".tl-card");
  await expect(card).toContainText(slice.name.slice(0, 20));
  // The pointer rests; keys move what is below it, far enough that something else or nothing is there.
  await page.keyboard.press("0");
  await rested(page);
  await settled(page);
  await expect(page.locator(".tl-card", { hasText: slice.name })).toHaveCount(0);
});

test("g goes along the flow and Shift + g back, from rank to rank on stacked ranks and alone", async ({ guarded: page, standalone }) => {
  const flows = (run: string, worker: string, slice: number) => getJson<TimelineFlowsAnswer>(page, `${standalone.url}api/timeline/flows?run=${run}&worker=${worker}&slice=${slice}&peers=1`);
  const { id: launch } = await longestHit(page, standalone.url, RUN, "cudaLaunchKernel");
  const first = await flows(RUN, "worker0", launch);
  const work = first.onward?.slice.id;
  if (work === undefined || first.back === null) throw new Error("a launch without work");
  const next = (await flows(RUN, "worker0", work)).onward?.slice.id;
  await page.goto(`${standalone.url}#run=${RUN}&view=timeline&slice=${launch}`);
  await settled(page);
  await expect(page.getByRole("button", { name: "Launched work" })).toBeVisible();
  for (const [key, slice] of [["g", work], ["g", next], ["Shift+G", undefined]] as const) {
    await page.keyboard.press(key);
    if (slice !== undefined) await expect(page).toHaveURL(new RegExp(`slice=${slice}(&|$)`));
    await expect(page.locator(".tl-panel .tl-columns")).toBeVisible();
    await expect(page.getByRole("button", { name: slice === undefined ? "Operator" : "Next in stream" })).toBeVisible();
  }
  const gloo = await getJson<TimelineSearchAnswer>(page, `${standalone.url}api/timeline/search?run=cpu_ddp4_gloo&worker=rank0&q=gloo:all_reduce`);
  const own = gloo.hits[0]?.id ?? 0;
  const peer = (await flows("cpu_ddp4_gloo", "rank0", own)).onward;
  expect([peer?.kind, peer?.worker]).toEqual(["next_rank", "rank1"]);
  await page.goto(`${standalone.url}#run=cpu_ddp4_gloo&worker=rank0&view=timeline&stack=rank1&slice=${own}`);
  await expect(page.getByRole("button", { name: "Next rank" })).toBeVisible();
  await page.keyboard.press("g");
  await expect(page).toHaveURL(new RegExp(`on=rank1`));
  await expect(page).toHaveURL(new RegExp(`slice=${peer?.slice.id}(&|$)`));
  // rank2 is not stacked: its own page opens.
  await expect(page.getByRole("button", { name: "Next rank" })).toBeVisible();
  await page.keyboard.press("g");
  await expect(page).toHaveURL(/worker=rank2/);
});

test("the next slice of a name is on whichever stacked rank has it", async ({ guarded: page, standalone }) => {
  const hits = async (worker: string) => (await getJson<TimelineSearchAnswer>(page, `${standalone.url}api/timeline/search?run=cpu_ddp4_gloo&worker=${worker}&q==gloo:all_reduce`)).hits;
  const [start] = await hits("rank0");
  if (start === undefined) throw new Error("no collective");
  await page.goto(`${standalone.url}#run=cpu_ddp4_gloo&worker=rank0&view=timeline&stack=rank1&slice=${start.id}`);
  await expect(page.getByRole("button", { name: "Next with this name" })).toBeEnabled();
  const ranks = new Set<string>();
  for (let step = 0; step < 4; step++) {
    const before = page.url();
    await page.keyboard.press("]");
    await expect(page).not.toHaveURL(before);
    await expect(page.getByRole("button", { name: "Next with this name" })).toBeEnabled();
    ranks.add(/on=(\w+)/.exec(page.url())?.[1] ?? "rank0");
  }
  expect([...ranks].sort()).toEqual(["rank0", "rank1"]);
});
