/** The timeline on real traces: slices are drawn at their times, and every way to navigate and search works. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import type { Page } from "@playwright/test";

import type { TimelineClocksAnswer, TimelineSearchAnswer, TimelineSlicePayload, TimelineTracksAnswer } from "../src/generated/schema";
import { addressed, lengthOf, rested } from "./addressed";
import { expect, test } from "./fixtures";
import { goTo } from "./pages";
import { serve } from "./servers";
import { getJson, longestHit, settled } from "./timelines";

const OVERLAPPING = join(resolve(import.meta.dirname, "../.."), "tests/data/malformed_derived/overlap_kernels.json");
const LANE_PX = 18;
const PADDING_PX = 3;

/** One name per sample that is in its raw JSON. */
const SAMPLES = [
  { run: "kineto_resnet50_nw0", name: "volta_sgemm_64x64_nt", kind: "kernel" },
  { run: "cpu_resnet_full", name: "aten::mkldnn_convolution", kind: "operator" },
  { run: "dlrm_8_ranks", name: "ncclKernel_SendRecv", kind: "kernel" },
  { run: "mi300_bert_small", name: "hipLaunchKernel", kind: "runtime" },
];

/** Where a slice is on the page when `at` fills the screen. */
async function pointOf(page: Page, slice: TimelineSlicePayload, at: readonly [number, number]) {
  const stage = await page.locator(".tl-stage").boundingBox();
  const head = await page.locator(`[data-track="${slice.track}"]`).boundingBox();
  if (stage === null || head === null) throw new Error("not on the page");
  const middle = slice.start_ns + slice.dur_ns / 2;
  const folded = head.height < LANE_PX * 2;
  return {
    x: stage.x + ((middle - at[0]) / (at[1] - at[0])) * stage.width,
    y: head.y + PADDING_PX + (folded ? 0 : slice.lane * LANE_PX) + LANE_PX / 2,
  };
}

/** A range in which the slice is a fifth of the screen. */
function around(slice: TimelineSlicePayload): readonly [number, number] {
  return [Math.round(slice.start_ns - 2 * slice.dur_ns), Math.round(slice.start_ns + 3 * slice.dur_ns)];
}

for (const { run, name } of SAMPLES) {
  test(`${run}: a slice is drawn at its time, and its card describes it`, async ({ guarded: page, standalone }) => {
    const slice = await longestHit(page, standalone.url, run, name);
    const at = around(slice);
    await page.goto(`${standalone.url}#run=${run}&view=timeline&at=${at[0]}-${at[1]}&slice=${slice.id}`);
    const panel = page.locator(".tl-panel");
    await expect(panel.getByRole("heading", { level: 2 })).toHaveAttribute("title", slice.name);
    await settled(page);
    const point = await pointOf(page, slice, at);
    const color = await page.evaluate(({ x, y }) => {
      const canvas = document.querySelector<HTMLCanvasElement>(".tl-rects");
      const box = canvas?.getBoundingClientRect();
      return Array.from(canvas?.getContext("2d")?.getImageData(x - (box?.x ?? 0), y - (box?.y ?? 0) + 6, 1, 1).data ?? []);
    }, point);
    expect(color.slice(0, 3), "the colour of the surface").not.toEqual([255, 255, 255]);
    await page.mouse.move(point.x, point.y);
    await expect(page.locator(".tl-card")).toContainText(slice.name.slice(0, 60));
  });
}

test("a click selects, arrows and brackets move on, links lead to the rows", async ({ guarded: page, standalone }) => {
  const slice = await longestHit(page, standalone.url, "kineto_resnet50_nw0", "volta_sgemm_64x64_nt");
  const at = around(slice);
  await page.goto(`${standalone.url}#run=kineto_resnet50_nw0&view=timeline&at=${at[0]}-${at[1]}`);
  await settled(page);
  const point = await pointOf(page, slice, at);
  await page.mouse.click(point.x, point.y);
  await expect(page).toHaveURL(new RegExp(`slice=${slice.id}(&|$)`));
  const panel = page.locator(".tl-panel");
  await expect(panel).toContainText("Launch delay");
  await expect(panel).toContainText("cudaLaunchKernel");
  await expect(panel.getByRole("button", { name: /^Next with this name/ })).toBeEnabled();
  await page.keyboard.press("]");
  await expect(page).not.toHaveURL(new RegExp(`slice=${slice.id}(&|$)`));
  await expect(panel.getByRole("heading", { level: 2 })).toHaveText("volta_sgemm_64x64_nt");
  await settled(page);
  await expect(panel.getByRole("button", { name: /^Previous with this name/ })).toBeEnabled();
  await page.keyboard.press("[");
  await expect(page).toHaveURL(new RegExp(`slice=${slice.id}(&|$)`));
  await page.keyboard.press("ArrowRight");
  await expect(page).not.toHaveURL(new RegExp(`slice=${slice.id}(&|$)`));
  await page.goBack();
  // Back stays on the timeline, as it was opened; from there it leaves.
  await expect(page).toHaveURL(new RegExp(`view=timeline&at=${at[0]}-${at[1]}$`));
  await expect(panel).toHaveCount(0);
  await page.goBack();
  await expect(page).toHaveURL("about:blank");
  await page.goto(`${standalone.url}#run=kineto_resnet50_nw0&view=timeline&at=${at[0]}-${at[1]}&slice=${slice.id}`);
  await panel.getByRole("link", { name: "Show in kernels" }).click();
  await expect(page.getByText("showing 1 of")).toBeVisible();
});

test("keys move: w zooms under the pointer, 0 shows everything, f fits the selected slice", async ({ guarded: page, standalone }) => {
  const run = "kineto_resnet50_nw0";
  const { end_ns: endNs } = await getJson<TimelineTracksAnswer>(page, `${standalone.url}api/timeline/tracks?run=${run}`);
  await page.goto(`${standalone.url}#run=${run}&view=timeline`);
  await settled(page);
  const stage = await page.locator(".tl-stage").boundingBox();
  if (stage === null) throw new Error("no stage");
  const share = 0.7;
  await page.mouse.move(stage.x + stage.width * share, stage.y + 100);
  // A busy machine draws fewer frames while the key is held; the point under the pointer stays all the same.
  await expect(async () => {
    await page.keyboard.down("w");
    await page.waitForTimeout(600);
    await page.keyboard.up("w");
    expect(lengthOf(await rested(page))).toBeLessThan(endNs * 0.5);
  }).toPass();
  const zoomed = addressed(page);
  const room = endNs * 0.01;
  const before = -room + share * (endNs + 2 * room);
  const after = zoomed.start + share * (zoomed.end - zoomed.start);
  expect(Math.abs(after - before) / endNs).toBeLessThan(0.002);
  await page.keyboard.press("0");
  await expect.poll(() => addressed(page).start).toBeLessThan(0);
  await expect.poll(() => addressed(page).end).toBeGreaterThan(endNs);
  const slice = await longestHit(page, standalone.url, run, "volta_sgemm_64x64_nt");
  await page.goto(`${standalone.url}#run=${run}&view=timeline&slice=${slice.id}`);
  await expect(page.locator(".tl-panel")).toContainText("volta_sgemm_64x64_nt");
  await settled(page);
  await page.keyboard.press("f");
  await expect.poll(() => lengthOf(addressed(page))).toBeLessThan(slice.dur_ns * 1.5);
  const fitted = await rested(page);
  expect(fitted.start).toBeLessThan(slice.start_ns);
  expect(fitted.end).toBeGreaterThan(slice.start_ns + slice.dur_ns);
});

test("a dragged range is summed up and becomes the selection of every view", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=kineto_resnet50_nw0&view=timeline`);
  await settled(page);
  const stage = await page.locator(".tl-stage").boundingBox();
  if (stage === null) throw new Error("no stage");
  await page.mouse.move(stage.x + 300, stage.y + 25);
  await page.mouse.down();
  await page.mouse.move(stage.x + 500, stage.y + 28, { steps: 6 });
  await page.mouse.up();
  const panel = page.locator(".tl-panel");
  await expect(panel).toContainText("Time by category");
  await expect(panel).toContainText("Slices by name");
  await expect(panel).toContainText("Idle gaps");
  await panel.getByRole("button", { name: "Use as selection" }).click();
  await expect(page).toHaveURL(/start_us=[\d.]+&end_us=[\d.]+/);
  await goTo(page, "kernels");
  await expect(page).toHaveURL(/start_us=/);
  await expect(page.locator(".chip")).toContainText("range");
});

test("search counts, jumps and is restored from the address", async ({ guarded: page, standalone }) => {
  const answer = await getJson<TimelineSearchAnswer>(page, `${standalone.url}api/timeline/search?run=dlrm_8_ranks&q=gemm`);
  await page.goto(`${standalone.url}#run=dlrm_8_ranks&view=timeline`);
  await settled(page);
  await page.keyboard.press("/");
  await page.keyboard.type("gemm");
  const count = page.locator(".tl-count");
  await expect(count).toContainText(`of ${answer.count}`);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/slice=\d+/);
  await expect(count).toHaveText(`1 of ${answer.count}`);
  await page.keyboard.press("Escape");
  await page.keyboard.press("n");
  await expect(count).toHaveText(`2 of ${answer.count}`);
  const address = page.url();
  await page.goto("about:blank");
  await page.goto(address);
  await expect(count).toHaveText(`2 of ${answer.count}`);
  await expect(page.locator(".tl-panel")).toBeVisible();
});

test("kernels that overlap on one stream are all drawn, with a note", async ({ guarded: page }) => {
  const server = await serve(OVERLAPPING);
  try {
    const tracks = await getJson<TimelineTracksAnswer>(page, `${server.url}api/timeline/tracks`);
    const raw = JSON.parse(readFileSync(OVERLAPPING, "utf8")) as { traceEvents: { cat?: string; ph?: string }[] };
    const kernels = raw.traceEvents.filter(({ cat, ph }) => ph === "X" && cat !== undefined && ["kernel", "gpu_memcpy", "gpu_memset"].includes(cat)).length;
    const streams = tracks.tracks.filter(({ kind }) => kind === "device_stream");
    expect(streams.reduce((sum, { slices }) => sum + slices, 0)).toBe(kernels);
    const stream = streams.find(({ overlap_from: from }) => from !== null);
    if (stream === undefined) throw new Error("no stream says that it overlaps");
    await page.goto(`${server.url}#view=timeline`);
    await settled(page);
    await expect(page.locator(".tl-tools .tl-overlap")).toContainText("overlapping");
    await expect(page.locator(`[data-track="${stream.key}"] .tl-overlap`)).toBeVisible();
  } finally {
    await server.stop();
  }
});

test("tracks fold, and stay so after a reload", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=dlrm_8_ranks&view=timeline`);
  await settled(page);
  const fold = page.locator(".tl-head").getByRole("button", { name: /thread 59811/ });
  const height = async () => (await page.locator(".tl-head", { hasText: "thread 59811" }).boundingBox())?.height ?? 0;
  expect(await height()).toBeGreaterThan(100);
  await fold.click();
  await expect(fold).toHaveAttribute("aria-expanded", "false");
  await expect.poll(height).toBeLessThan(30);
  await page.reload();
  await settled(page);
  await expect.poll(height).toBeLessThan(30);
});

test("WebGL and the 2D canvas draw the same picture", async ({ guarded: page, standalone }) => {
  const pictures: string[] = [];
  for (const canvas of ["webgl", "2d"]) {
    await page.goto(`${standalone.url}?canvas=${canvas}#run=dlrm_8_ranks&view=timeline&at=2000000-9000000`);
    await settled(page);
    await expect(page.locator(".tl-rects")).toHaveAttribute("data-renderer", canvas);
    await page.getByRole("button", { name: /Save/ }).click();
    const waiting = page.waitForEvent("download");
    await page.getByRole("button", { name: "Picture (PNG)" }).click();
    pictures.push(readFileSync(await (await waiting).path()).toString("base64"));
    await page.goto("about:blank");
  }
  const [differing, coloured] = await page.evaluate(async (sources) => {
    const layers = await Promise.all(
      sources.map(async (source) => {
        const image = new Image();
        image.src = `data:image/png;base64,${source}`;
        await image.decode();
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [image.width, image.height];
        const context = canvas.getContext("2d");
        context?.drawImage(image, 0, 0);
        return context?.getImageData(0, 0, image.width, image.height).data ?? new Uint8ClampedArray();
      }),
    );
    const [one = new Uint8ClampedArray(), other = new Uint8ClampedArray()] = layers;
    let different = 0;
    let painted = 0;
    for (let at = 0; at < one.length; at += 4) {
      if (Math.abs((one[at] ?? 0) - (other[at] ?? 0)) > 40 || Math.abs((one[at + 1] ?? 0) - (other[at + 1] ?? 0)) > 40) different++;
      if ((one[at] ?? 0) + 60 < (one[at + 1] ?? 0) || (one[at] ?? 0) + 60 < (one[at + 2] ?? 0)) painted++;
    }
    return [(4 * different) / one.length, (4 * painted) / one.length];
  }, pictures);
  expect(coloured, "share of coloured pixels").toBeGreaterThan(0.03);
  expect(differing, "share of pixels that differ").toBeLessThan(0.03);
});

test("a kernel's row leads to its slices", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=kineto_resnet50_nw0&view=kernels&kernels.filter=name=volta_sgemm_64x64_nt`);
  await expect(page.getByText("showing 1 of")).toBeVisible();
  await page.getByRole("button", { name: "Open row" }).first().click();
  await page.getByRole("link", { name: "Show on timeline" }).click();
  await expect(page.locator(".tl-panel").getByRole("heading", { level: 2 })).toHaveText("volta_sgemm_64x64_nt");
  const exact = await getJson<TimelineSearchAnswer>(page, `${standalone.url}api/timeline/search?run=kineto_resnet50_nw0&q=${encodeURIComponent("=volta_sgemm_64x64_nt")}`);
  expect([exact.name_count, exact.names[0]?.name]).toEqual([1, "volta_sgemm_64x64_nt"]);
  await expect(page.locator(".tl-count")).toHaveText(`1 of ${exact.count}`);
});

for (const { run, others, name } of [
  { run: "dlrm_8_ranks", others: ["worker1_step_12", "worker7_step_12"], name: "ncclKernel_SendRecv" },
  { run: "cpu_ddp4_gloo", others: ["rank1", "rank3"], name: "extra_collectives" },
]) {
  test(`${run}: ranks are stacked on one clock, and their slices stay distinct`, async ({ guarded: page, standalone }) => {
    const { workers } = await getJson<TimelineClocksAnswer>(page, `${standalone.url}api/timeline/clocks?run=${run}`);
    await page.goto(`${standalone.url}#run=${run}&view=timeline`);
    await settled(page);
    await page.getByRole("button", { name: "Stack ranks" }).click();
    for (const worker of others) await page.getByRole("checkbox", { name: worker, exact: true }).check();
    await page.locator(".tl-stack").getByRole("button", { name: "Show", exact: true }).click();
    await expect(page).toHaveURL(new RegExp(`stack=${others.join("(,|%2C)")}`));
    const heads = page.locator(".tl-group:not(.tl-inner) strong");
    await expect(heads).toHaveText([workers[0]?.worker ?? "", ...others]);

    // Where the last of them should be: moved by its clock, and all by that of the earliest.
    const offsetOf = (worker: string) => workers.find((each) => each.worker === worker)?.offset_ns ?? NaN;
    const worker = others[1] ?? "";
    const shiftNs = offsetOf(worker) - Math.min(0, ...others.map(offsetOf));
    const hit = await longestHit(page, standalone.url, run, name, worker);
    const slice = { ...hit, track: `${worker}/${hit.track}`, start_ns: hit.start_ns + shiftNs };
    const at = around(slice);
    await page.goto(`${standalone.url}#run=${run}&view=timeline&stack=${others.join(",")}&at=${at[0]}-${at[1]}`);
    await settled(page);
    const point = await pointOf(page, slice, at);
    await page.mouse.move(point.x, point.y);
    await expect(page.locator(".tl-card")).toContainText(worker);
    await expect(page.locator(".tl-card")).toContainText(hit.name.slice(0, 40));
    await page.mouse.click(point.x, point.y);
    await expect(page).toHaveURL(new RegExp(`slice=${hit.id}(&|$)`));
    await expect(page).toHaveURL(new RegExp(`on=${worker}(&|$)`));
    await expect(page.locator(".tl-panel").getByRole("heading", { level: 2 })).toHaveAttribute("title", hit.name);
    await page.reload();
    await expect(heads).toHaveText([workers[0]?.worker ?? "", ...others]);
    await expect(page.locator(".tl-panel").getByRole("heading", { level: 2 })).toHaveAttribute("title", hit.name);
  });
}

test("a slice in a folded track of a stacked rank is uncovered, and help lists the keys", async ({ guarded: page, standalone }) => {
  const slice = await longestHit(page, standalone.url, "dlrm_8_ranks", "aten::addmm", "worker1_step_12");
  await page.goto(`${standalone.url}#run=dlrm_8_ranks&view=timeline&stack=worker1_step_12&on=worker1_step_12&slice=${slice.id}`);
  await settled(page);
  await expect(page.locator(`[data-track="worker1_step_12/${slice.track}"]`)).toBeInViewport();
  await page.keyboard.press("?");
  await expect(page.locator(".tl-help")).toContainText("zoom in and out under the pointer");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: /Help/ }).click();
  await expect(page.getByRole("dialog")).toContainText("zoom in and out under the pointer");
});

test("time outside the selected steps is shaded", async ({ guarded: page, standalone }) => {
  const run = "cpu_ddp4_gloo";
  const { end_ns: endNs } = await getJson<TimelineTracksAnswer>(page, `${standalone.url}api/timeline/tracks?run=${run}`);
  const { hits } = await getJson<TimelineSearchAnswer>(page, `${standalone.url}api/timeline/search?run=${run}&q==ProfilerStep%233`);
  const startNs = hits[0]?.start_ns ?? NaN;
  // A point before the step and one inside it, below the last track, on the layer of shades.
  const shades = () =>
    page.evaluate(
      (shares) => {
        const canvas = document.querySelector<HTMLCanvasElement>(".tl-stage canvas:not(.tl-rects)");
        const context = canvas?.getContext("2d");
        return shares.map((share) => context?.getImageData(Math.round(share * (canvas?.width ?? 0)), (canvas?.height ?? 0) - 3, 1, 1).data[3] ?? -1);
      },
      [(0.5 * startNs) / endNs, (startNs + 0.5 * (endNs - startNs)) / endNs],
    );
  await page.goto(`${standalone.url}#run=${run}&view=timeline&at=0-${endNs}&steps=3`);
  await settled(page);
  const [before = 0, inside = 0] = await shades();
  expect(before, "before step 3").toBeGreaterThan(inside);
  expect(inside).toBe(0);
  await page.goto(`${standalone.url}#run=${run}&view=timeline&at=0-${endNs}&steps=99`);
  await expect(page.locator(".tl-problem")).toContainText("no step");
});

test("the visible range is saved as Chrome JSON", async ({ guarded: page, standalone }) => {
  const run = "kineto_resnet50_nw0";
  const slice = await longestHit(page, standalone.url, run, "volta_sgemm_64x64_nt");
  const { origin_us: originUs } = await getJson<TimelineTracksAnswer>(page, `${standalone.url}api/timeline/tracks?run=${run}`);
  const at = around(slice);
  await page.goto(`${standalone.url}#run=${run}&view=timeline&at=${at[0]}-${at[1]}`);
  await settled(page);
  await page.getByRole("button", { name: /Save/ }).click();
  const waiting = page.waitForEvent("download");
  await page.getByRole("button", { name: "Visible range as Chrome JSON" }).click();
  const download = await waiting;
  expect(download.suggestedFilename()).toMatch(/\.json$/);
  const { traceEvents } = JSON.parse(readFileSync(await download.path(), "utf8")) as { traceEvents: { ph: string; name?: string; ts?: number; dur?: number }[] };
  const inTrace = (timeNs: number) => originUs + timeNs / 1000;
  const slices = traceEvents.filter(({ ph }) => ph === "X");
  const same = slices.filter(({ name, ts = 0 }) => name === slice.name && Math.abs(ts - inTrace(slice.start_ns)) < 1);
  expect(same.map(({ dur = 0 }) => Math.round(dur * 1000))).toEqual([slice.dur_ns]);
  const outside = slices.filter(({ ts = 0, dur = 0 }) => ts > inTrace(at[1]) + 1 || ts + dur < inTrace(at[0]) - 1);
  expect(outside).toEqual([]);
});

const EVIL = '<img src=x onerror="document.title=1">';

test("hostile text stays text, and a trace of one instant is shown", async ({ guarded: page }) => {
  const folder = mkdtempSync(join(tmpdir(), "profiler-timeline-"));
  const file = join(folder, "w.pt.trace.json");
  const event = { ph: "X", pid: 1, tid: 1, cat: "cpu_op", name: EVIL, ts: 5, dur: 0, args: { "Call stack": `${EVIL}.py(3): ${EVIL}`, "Input Dims": [[EVIL]] } };
  const label = { ph: "M", name: "process_name", pid: 1, tid: 0, ts: 0, args: { name: EVIL } };
  writeFileSync(file, JSON.stringify({ traceEvents: [label, event] }));
  const server = await serve(file);
  try {
    await page.goto(`${server.url}#view=timeline&slice=0&find=onerror`);
    await settled(page);
    await expect(page.locator(".tl-panel").getByRole("heading", { level: 2 })).toHaveText(EVIL);
    await expect(page.locator(".tl-group")).toContainText("<img src=x");
    await expect(page.locator(".tl-count")).toHaveText("1 of 1");
    expect(await page.locator(".timeline img").count()).toBe(0);
    expect(await page.title()).not.toBe("1");
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});

test("works inside TensorBoard, and its address does", async ({ guarded: page, board }) => {
  await page.goto(`${board.url}#pytorch_profiler&p.pytorch_profiler.run=mi300_bert_small&p.pytorch_profiler.view=timeline`);
  const frame = page.frameLocator("iframe");
  await expect(frame.locator(".tl-rects")).toBeVisible({ timeout: 30_000 });
  await frame.locator(".tl-stage").hover();
  await page.mouse.wheel(0, 10);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -300);
  await page.keyboard.up("Control");
  await expect.poll(() => page.evaluate(() => window.location.hash)).toMatch(/p\.pytorch_profiler\.at=/);
});
