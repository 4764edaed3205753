/** Takes the pictures of the documentation, in both themes, as `tools/site/pictures.json` lists them. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test, type Page } from "@playwright/test";

import { BIN, SAMPLES, serve, type Server } from "./servers";

interface Picture {
  readonly name: string;
  readonly logdir: string;
  readonly address: string;
}

const ROOT = join(SAMPLES, "..");
const FOLDER = join(ROOT, "site-pictures");
/** Marks recordings that no sample shows. */
const SIMULATED = "simulated:";
const PICTURES = JSON.parse(readFileSync(join(ROOT, "tools", "site", "pictures.json"), "utf8")) as readonly Picture[];

for (const logdir of new Set(PICTURES.map((picture) => picture.logdir))) {
  test.describe(logdir, () => {
    let server: Server;
    const folder = mkdtempSync(join(tmpdir(), "profiler-pictures-"));
    test.beforeAll(async () => {
      server = await serve(recordings(logdir, folder));
    });
    test.afterAll(async () => {
      await server.stop();
      rmSync(folder, { recursive: true });
    });

    for (const { name, address } of PICTURES.filter((picture) => picture.logdir === logdir)) {
      test(name, async ({ page }) => {
        for (const theme of ["light", "dark"] as const) {
          await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
          await page.goto("about:blank");
          await page.goto(`${server.url}#${address}`);
          await settled(page);
          await page.screenshot({ path: join(FOLDER, `${name}-${theme}.png`) });
        }
      });
    }
  });
}

/** The recordings of a folder of the repository; simulated ones are written first. */
function recordings(logdir: string, folder: string): string {
  if (!logdir.startsWith(SIMULATED)) return join(ROOT, logdir);
  execFileSync(join(BIN, "python"), ["-m", "tools.site.example_recordings", logdir.slice(SIMULATED.length), folder], { cwd: ROOT });
  return folder;
}

/** Waits until the answers are shown and the charts are drawn. */
async function settled(page: Page): Promise<void> {
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await expect(page.locator(".skeleton, [role=progressbar], [aria-busy=true]")).toHaveCount(0);
  await page.waitForLoadState("networkidle");
}
