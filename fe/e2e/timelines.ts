/** What tests of the timeline ask the server, and when its page can be looked at. */
import type { Page } from "@playwright/test";

import type { TimelineSearchAnswer, TimelineSlicePayload } from "../src/generated/schema";
import { expect } from "./fixtures";

export async function getJson<T>(page: Page, url: string): Promise<T> {
  await expect.poll(async () => (await page.request.get(url)).status()).toBe(200);
  return (await (await page.request.get(url)).json()) as T;
}

export async function longestHit(page: Page, base: string, run: string, name: string, worker = ""): Promise<TimelineSlicePayload> {
  const answer = await getJson<TimelineSearchAnswer>(page, `${base}api/timeline/search?run=${run}&worker=${worker}&q=${encodeURIComponent(name)}`);
  const [hit] = answer.hits.toSorted((one, other) => other.dur_ns - one.dur_ns);
  if (hit === undefined) throw new Error(`${run} has no ${name}`);
  return hit;
}

export async function settled(page: Page): Promise<void> {
  await expect(page.locator(".tl-rects")).toBeVisible();
  await page.waitForLoadState("networkidle");
  await page.waitForTimeout(300);
}
