/** The panels of the timeline: readable texts, menus that close, hits of every rank. */
import type { Page } from "@playwright/test";

import type { SliceArgumentsAnswer, TimelineGapsAnswer, TimelineNamesakesAnswer, TimelineSearchAnswer, TimelineTracksAnswer } from "../src/generated/schema";
import { expect, test } from "./fixtures";
import { goTo } from "./pages";
import { getJson, longestHit, settled } from "./timelines";

/** Pieces of text in the open panel that overlap each other or lie outside the panel. */
async function collisions(page: Page): Promise<string[]> {
  return page.locator(".tl-panel .body").evaluate((body) => {
    const edge = body.getBoundingClientRect().right;
    const boxes: { text: string; box: DOMRect }[] = [];
    const texts = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode() !== null) {
      const { currentNode: node } = texts;
      if (node.textContent?.trim() === "" || node.parentElement?.checkVisibility({ visibilityProperty: true }) !== true) continue;
      // A table scrolls by itself, under its own head and foot.
      if (node.parentElement.closest("[role=grid]") !== null) continue;
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
    for (const [params, heading] of [[`slice=${id}`, name], ["range=1000000-3000000", "Range of"]] as const) {
      await page.goto(`${standalone.url}#run=${run}&view=timeline&${params}`);
      await expect(page.locator(".tl-panel").getByRole("heading", { level: 2 }).first()).toHaveAttribute("title", new RegExp(heading.replace(/[()]/g, "\\$&")));
      await settled(page);
      for (const width of [1024, 1280, 1440, 2560]) {
        await page.setViewportSize({ width, height: 900 });
        expect(await collisions(page), `${params} at ${width} px`).toEqual([]);
      }
    }
  });
}

test("a call stack that old traces have as an argument is shown once", async ({ guarded: page, standalone }) => {
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

test("without a device no device time of 0 µs is shown", async ({ guarded: page, standalone }) => {
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

test("hits of stacked ranks are stepped through in the order of the common clock", async ({ guarded: page, standalone }) => {
  const others = ["worker1_step_12", "worker7_step_12"];
  const counts = await Promise.all(
    ["worker0_step_12", ...others].map(async (worker) => (await getJson<TimelineSearchAnswer>(page, `${standalone.url}api/timeline/search?run=dlrm_8_ranks&worker=${worker}&q=SendRecv`)).count),
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

test("the timeline is still cached after many slices were opened", async ({ guarded: page, standalone }) => {
  const hash = (slice: number) => `#run=kineto_resnet50_nw0&view=timeline&slice=${slice}`;
  await page.goto(`${standalone.url}${hash(0)}`);
  await settled(page);
  for (let slice = 1; slice <= 35; slice++) {
    const loaded = page.waitForResponse((response) => response.url().includes(`/slice/${slice}?`));
    await page.evaluate((next) => window.location.assign(next), hash(slice));
    await loaded;
  }
  await goTo(page, "overview");
  await goTo(page, "timeline");
  await expect(page.locator(".tl-rects")).toBeVisible();
});

test("a slice shows its times, every argument of the file, and its rank among slices of its name", async ({ guarded: page, standalone }) => {
  const run = "h100_bert_small";
  const { id, name } = await longestHit(page, standalone.url, run, "sm90_xmma_gemm");
  const recorded = await getJson<SliceArgumentsAnswer>(page, `${standalone.url}api/slice/${id}/arguments?run=${run}`);
  const namesakes = await getJson<TimelineNamesakesAnswer>(page, `${standalone.url}api/timeline/namesakes?run=${run}&slice=${id}`);
  await page.goto(`${standalone.url}#run=${run}&view=timeline&slice=${id}`);
  const panel = page.locator(".tl-panel");
  for (const fact of ["Start", "End", "Duration", "Step", "Device", "Stream", "Process"]) {
    await expect(panel.locator("dt", { hasText: new RegExp(`^${fact}$`) })).toHaveCount(1);
  }
  const others = recorded.arguments.filter(({ in_model: isKnown }) => !isKnown);
  expect(others.length).toBeGreaterThan(0);
  const section = panel.getByRole("region", { name: "Arguments" });
  for (const { name: key, text } of others) await expect(section.locator("dt", { hasText: new RegExp(`^${key}$`) }).locator("+ dd")).toHaveText(text ?? "");
  await section.getByRole("button", { name: `All ${recorded.count} as in the file` }).click();
  for (const { name: key } of recorded.arguments) await expect(section.getByText(key, { exact: true }).first()).toBeVisible();
  const histogram = panel.getByRole("figure");
  await expect(histogram).toHaveAttribute("aria-label", /this one is/);
  await expect(histogram.locator(".tl-bars > span")).toHaveCount(namesakes.namesakes.counts.length);
  await expect(histogram.locator(".tl-bars > .own")).toHaveCount(1);
  const middle = (element: Element) => {
    const text = document.createRange();
    text.selectNodeContents(element);
    const [own, box] = [text.getBoundingClientRect(), element.getBoundingClientRect()];
    return Math.abs(own.top + own.bottom - box.top - box.bottom) / 2;
  };
  expect(await panel.getByRole("link", { name: "Show in kernels" }).evaluate(middle), "its text is in the middle of the button").toBeLessThan(2);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await panel.getByRole("button", { name: /^Copy name/ }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(name);
});

test("a range sums up the tracks it was dragged over, and all by one click", async ({ guarded: page, standalone }) => {
  const run = "h100_bert_small";
  const { tracks } = await getJson<TimelineTracksAnswer>(page, `${standalone.url}api/timeline/tracks?run=${run}`);
  await page.goto(`${standalone.url}#run=${run}&view=timeline`);
  await settled(page);
  const stage = await page.locator(".tl-stage").boundingBox();
  const head = await page.locator(".tl-head", { hasText: "thread 19392" }).first().boundingBox();
  if (stage === null || head === null) throw new Error("no stage");
  const y = head.y + 30;
  await page.mouse.move(stage.x + 300, y);
  await page.mouse.down();
  await page.mouse.move(stage.x + 600, y + 10, { steps: 6 });
  await page.mouse.up();
  const panel = page.locator(".tl-panel");
  await expect(panel).toContainText(`1 track of ${tracks.length}`);
  // The band lies over that track only.
  const outsideX = stage.x + 450;
  const shades = () => page.evaluate(
    (points) => {
      const canvas = document.querySelector<HTMLCanvasElement>(".tl-stage canvas:last-of-type");
      const box = canvas?.getBoundingClientRect();
      return points.map(([x = 0, y = 0]) => canvas?.getContext("2d")?.getImageData(x - (box?.x ?? 0), y - (box?.y ?? 0), 1, 1).data[3]);
    },
    [head.y + head.height - 4, head.y - 10].map((y) => [outsideX, y]),
  );
  await expect.poll(shades, "shaded, and not").toEqual([Math.round(0.12 * 255), 0]);
  const rows = panel.locator(".tl-range-table [role=row]");
  await expect(rows.filter({ hasText: "aten::linear" })).not.toHaveCount(0);
  await expect(panel).not.toContainText("Kernel on the device");
  const address = page.url();
  await page.goto("about:blank");
  await page.goto(address);
  await expect(panel).toContainText(`1 track of ${tracks.length}`);
  await panel.getByRole("button", { name: "All tracks" }).click();
  await expect(panel).toContainText(`all ${tracks.length} tracks`);
  await expect(panel).toContainText("Kernel on the device");
  // The table sorts, its order is in the address, and a row highlights its name on the tracks.
  await panel.getByRole("columnheader", { name: /^Count/ }).getByRole("button").first().click();
  await expect(page).toHaveURL(/in_range\.sort=-count/);
  await rows.filter({ hasText: "aten::linear" }).first().click();
  await expect(page).toHaveURL(/find=/);
  // Steps alone have no sums: they lie over what the threads have.
  await page.goto("about:blank");
  await page.goto(address.replace(/(over=[^:]*:).*/, "$1steps"));
  await expect(panel).toContainText("1 track of");
  await expect(panel).toContainText("Nothing to sum up");
  await expect(panel).not.toContainText("Time by category");
});

test("idle gaps have a card, sorted and operated by keyboard", async ({ guarded: page, standalone }) => {
  const run = "h100_bert_small";
  const answer = await getJson<TimelineGapsAnswer>(page, `${standalone.url}api/timeline/gaps?run=${run}`);
  const [longest] = answer.gaps;
  if (longest === undefined) throw new Error("no gaps");
  await page.goto(`${standalone.url}#run=${run}&view=timeline`);
  await settled(page);
  await page.getByRole("button", { name: "Idle gaps" }).press("Enter");
  const panel = page.locator(".tl-panel");
  await expect(panel.locator("caption")).toContainText(`${answer.count} gaps`);
  const rows = panel.locator("tbody tr");
  await expect(rows).toHaveCount(answer.gaps.length);
  await expect(rows.first()).toContainText(longest.causes[0]?.cause ?? "?");
  await panel.getByRole("button", { name: "Start" }).press("Enter");
  await expect(panel.getByRole("columnheader", { name: "Start" })).toHaveAttribute("aria-sort", "ascending");
  await expect(rows.first()).toContainText("the recording begins");
  await panel.getByRole("button", { name: /^Length/ }).press("Enter");
  await rows.first().getByRole("button", { name: /zoom to the gap$/ }).press("Enter");
  await expect.poll(() => {
    const [start, end] = /at=(-?\d+)-(-?\d+)/.exec(page.url())?.slice(1).map(Number) ?? [];
    return start !== undefined && end !== undefined && start <= longest.gap.start_ns && end >= longest.gap.end_ns && end - start < 3 * (longest.gap.end_ns - longest.gap.start_ns);
  }).toBe(true);
  // A link to a slice disappears with its table: the keyboard stays in the panel, and Escape leads back.
  await rows.nth(1).getByRole("button").nth(1).press("Enter");
  await expect(page).toHaveURL(/slice=/);
  const slot = page.locator(".tl-panel-slot");
  await expect(slot).toBeFocused();
  await slot.press("Escape");
  await expect(page.locator(".tl-stage")).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(rows).toHaveCount(answer.gaps.length);
  await panel.getByRole("button", { name: "On screen" }).click();
  await expect.poll(() => rows.count()).toBeLessThan(answer.gaps.length);
  await panel.getByRole("button", { name: "Close" }).click();
  await expect(panel).toHaveCount(0);
});

/** What Perfetto's page does with messages, as it documents it; keeps what it was given. */
const STAND_IN = `<!doctype html><title>stand-in</title><script>
  window.addEventListener("message", ({ data, origin, source }) => {
    if (data === "PING") source.postMessage("PONG", origin);
    if (data.perfetto) document.title = JSON.stringify([data.perfetto.title, data.perfetto.fileName, new TextDecoder().decode(data.perfetto.buffer)]);
  });
</script>`;

for (const face of ["standalone", "board"] as const) {
  test(`a range is passed to Perfetto's own page after a click that says so (${face})`, async ({ page, standalone, board }) => {
    const requests: string[] = [];
    await page.context().route("https://ui.perfetto.dev/**", (route) => {
      requests.push(route.request().url());
      return route.fulfill({ contentType: "text/html", body: STAND_IN });
    });
    const hash = ["run=h100_bert_small", "view=timeline", "range=1000000-1500000"];
    const framed = hash.map((part) => `p.pytorch_profiler.${part}`);
    await page.goto(face === "standalone" ? `${standalone.url}#${hash.join("&")}` : `${board.url}#pytorch_profiler&${framed.join("&")}`);
    const frame = face === "standalone" ? page.mainFrame() : page.frameLocator("iframe");
    await frame.getByRole("button", { name: "Perfetto" }).click();
    await expect(frame.getByText("This tool uploads nothing")).toBeVisible();
    expect(requests, "before the click that says so").toEqual([]);
    const opened = page.context().waitForEvent("page");
    await frame.getByRole("button", { name: "Open in Perfetto" }).click();
    const tab = await opened;
    await expect.poll(() => tab.title()).toContain("h100_bert_small");
    const [title, fileName, text] = JSON.parse(await tab.title()) as [string, string, string];
    expect(title).toContain("h100_bert_small");
    expect(fileName).toMatch(/_range\.json$/);
    expect((JSON.parse(text) as { traceEvents: unknown[] }).traceEvents.length).toBeGreaterThan(10);
    await expect(frame.getByText("The range is open in Perfetto")).toBeVisible();
  });
}

test("where no tab opens, the range can be downloaded", async ({ guarded: page, standalone }) => {
  await page.addInitScript(() => {
    window.open = () => null;
  });
  await page.goto(`${standalone.url}#run=h100_bert_small&view=timeline&range=1000000-1500000`);
  await page.getByRole("button", { name: "Perfetto" }).click();
  await page.getByRole("button", { name: "Open in Perfetto" }).click();
  await expect(page.getByText("The browser did not open a tab")).toBeVisible();
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download the range" }).click();
  expect((await saved).suggestedFilename()).toMatch(/^h100_bert_small.*\.json$/);
});

test("notes are written by keyboard, changed, found again in the address, and removed", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=h100_bert_small&view=timeline`);
  await settled(page);
  await page.keyboard.press("t");
  await page.keyboard.type("a <b>note</b>");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/notes=/);
  const address = page.url();
  await page.goto("about:blank");
  await page.goto(address);
  const text = page.getByLabel("Text of note 1");
  await expect(text).toHaveValue("a <b>note</b>");
  await text.fill("changed");
  await text.press("Enter");
  await expect(page).toHaveURL(/notes=\d+(%20|\+)changed/);
  await page.getByRole("button", { name: "Remove note 1" }).click();
  await expect(page).not.toHaveURL(/notes=/);
  await expect(page.getByText("No notes yet.")).toBeVisible();
});
