/** Hang: real dumps of four ranks name the rank that called another collective, in both themes and on a phone. */
import { join } from "node:path";

import { contrastFaults, faults, switchToDark } from "./audit";
import { expect, test } from "./fixtures";
import { SAMPLES, serve } from "./servers";
import { card } from "./tables";

test("the answer names the rank, its call and the group; the tables list them", async ({ guarded: page }) => {
  const server = await serve(join(SAMPLES, "..", "tests", "data", "hangs", "skip"));
  try {
    await page.goto(`${server.url}#view=hang`);
    await expect(page.getByText("Rank 1 called all_gather as #4 of the group of all ranks, where the other 3 ranks called all_reduce")).toBeVisible();
    await expect(card(page, "What hangs").getByText("calls do not match")).toBeVisible();
    await expect(card(page, "What hangs").getByText("all ranks", { exact: true })).toBeVisible();
    expect(await faults(page)).toEqual([]);
    await switchToDark(page);
    expect(await contrastFaults(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await faults(page)).toEqual([]);
  } finally {
    await server.stop();
  }
});

test("a run without dumps says how to get them, and has no tab for them", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=cpu_ddp4_gloo&view=hang`);
  await expect(page.getByRole("main")).toContainText("TORCH_NCCL_DUMP_ON_TIMEOUT=1");
  await page.goto(`${standalone.url}#run=cpu_ddp4_gloo&view=distributed`);
  await expect(page.getByRole("link", { name: "Collectives" })).toBeVisible();
  await expect(page.getByRole("link", { name: "Hang" })).toHaveCount(0);
});
