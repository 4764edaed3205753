/** Takes the pictures of the documentation, in both themes, as `tools/site/pictures.json` lists them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test, type Page } from "@playwright/test";

import { SAMPLES, serve, type Server } from "./servers";

interface Picture {
  readonly name: string;
  readonly logdir: string;
  readonly address: string;
}

const ROOT = join(SAMPLES, "..");
const FOLDER = join(ROOT, "site-pictures");
const PICTURES = JSON.parse(readFileSync(join(ROOT, "tools", "site", "pictures.json"), "utf8")) as readonly Picture[];

for (const logdir of new Set(PICTURES.map((picture) => picture.logdir))) {
  test.describe(logdir, () => {
    let server: Server;
    test.beforeAll(async () => {
      server = await serve(join(ROOT, logdir));
    });
    test.afterAll(() => server.stop());

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

/** Waits until the answers are shown and the charts are drawn. */
async function settled(page: Page): Promise<void> {
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await expect(page.locator(".skeleton, [role=progressbar], [aria-busy=true]")).toHaveCount(0);
  await page.waitForLoadState("networkidle");
}
