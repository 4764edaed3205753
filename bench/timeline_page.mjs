// Frame times of the timeline page in headless Chromium while it is panned and zoomed.
//
//     node bench/timeline_page.mjs --path samples/kineto_resnet50_nw0 [--seconds 10]
//     node bench/timeline_page.mjs --url "http://127.0.0.1:6007/#run=a&view=timeline"
//
// Goal: a median frame of at most 16.7 ms with a GPU, 33 ms without one on two cores, and no task longer
// than 100 ms after the first second. `--canvas webgl` and `--canvas 2d` choose the renderer; by itself the
// page takes WebGL where a GPU does it and a 2D canvas elsewhere.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

const ROOT = resolve(import.meta.dirname, "..");
const { chromium } = createRequire(join(ROOT, "fe", "package.json"))("@playwright/test");
const START_MS = 120_000;
const FLAGS = ["--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

const { values: options } = parseArgs({
  options: {
    path: { type: "string", default: join(ROOT, "samples", "kineto_resnet50_nw0") },
    url: { type: "string" },
    seconds: { type: "string", default: "10" },
    canvas: { type: "string" },
  },
});

/** Starts `torch-tb-profiler serve` and gives its address and what ends it. */
async function serve(path) {
  const local = join(ROOT, ".venv", "bin", "torch-tb-profiler");
  const child = spawn(existsSync(local) ? local : "torch-tb-profiler", ["serve", path, "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
  const url = await new Promise((found, failed) => {
    child.stdout.on("data", (chunk) => {
      const match = /http:\S+/.exec(String(chunk));
      if (match !== null) found(match[0]);
    });
    child.on("exit", (code) => failed(new Error(`the server ended with ${code}`)));
    setTimeout(() => failed(new Error("the server said nothing")), START_MS).unref();
  });
  return { url, stop: () => child.kill("SIGTERM") };
}

/** Records in the page, from now on. */
function record() {
  const frames = [];
  const tasks = [];
  let last = performance.now();
  const tick = (now) => {
    frames.push(now - last);
    last = now;
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
  new PerformanceObserver((list) => tasks.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: "longtask" });
  window.measured = { frames, tasks };
}

/** Pans, zooms in and out, drags and scrolls by turns, as a reader does. */
async function move(page, seconds) {
  const stage = await page.locator(".tl-stage").boundingBox();
  const centre = { x: stage.x + stage.width / 2, y: stage.y + stage.height / 2 };
  const end = Date.now() + seconds * 1000;
  await page.mouse.move(centre.x, centre.y);
  const hold = async (key, ms) => {
    await page.keyboard.down(key);
    await page.waitForTimeout(ms);
    await page.keyboard.up(key);
  };
  while (Date.now() < end) {
    await hold("w", 900);
    await hold("d", 500);
    await hold("a", 700);
    for (let count = 0; count < 12; count++) await page.mouse.wheel(0, count < 6 ? 60 : -60);
    await page.keyboard.down("Shift");
    await page.mouse.down();
    for (let count = 0; count < 20; count++) await page.mouse.move(centre.x - count * 15, centre.y);
    await page.mouse.up();
    await page.keyboard.up("Shift");
    await page.mouse.move(centre.x, centre.y);
    await hold("s", 900);
  }
}

function quantile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
}

const server = options.url === undefined ? await serve(resolve(options.path)) : null;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", chromiumSandbox: false, args: FLAGS });
try {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  const address = options.url ?? `${server.url}${options.canvas === undefined ? "" : `?canvas=${options.canvas}`}#view=timeline`;
  await page.goto(address);
  await page.locator(".tl-rects").waitFor({ timeout: START_MS });
  await page.waitForTimeout(1000);
  await page.evaluate(record);
  await move(page, Number(options.seconds));
  const { frames, tasks } = await page.evaluate(() => window.measured);
  const sorted = frames.slice(1).sort((one, other) => one - other);
  const round = (ms) => Math.round(ms * 10) / 10;
  const result = {
    renderer: await page.locator(".tl-rects").getAttribute("data-renderer"),
    frames: sorted.length,
    median_ms: round(quantile(sorted, 0.5)),
    p95_ms: round(quantile(sorted, 0.95)),
    max_ms: round(sorted.at(-1) ?? NaN),
    long_tasks: tasks.length,
    longest_task_ms: round(Math.max(0, ...tasks)),
  };
  console.log(JSON.stringify(result));
} finally {
  await browser.close();
  server?.stop();
}
