/** The main job inside TensorBoard: see where the time went, with the network cut off. */
import { card, columnTexts, exactValues, exported, header } from "./tables";
import { expect, test } from "./fixtures";
import { goTo } from "./pages";

const RUN = "p.pytorch_profiler.run=kineto_resnet50_nw0";

test("overview, operators and kernels work in the plugin's frame", async ({ guarded: page, board }) => {
  await page.goto(`${board.url}#pytorch_profiler&${RUN}`);
  const frame = page.frameLocator("iframe");

  await test.step("the GPU utilization is the known one", async () => {
    await expect(frame.locator(".answer")).toContainText("busy 55.5 % of an average step of 178 ms");
    await frame.locator("summary", { hasText: "6 steps of" }).click();
    await expect(frame.getByRole("img", { name: "Chart: Step time" }).locator("canvas")).toBeVisible();
  });

  await test.step("operators sort and filter", async () => {
    await goTo(frame, "operators");
    const table = card(frame, "Operators");
    await expect(table.getByRole("status")).toHaveText("76 rows");
    expect((await columnTexts(table, 0))[0]).toContain("aten::cudnn_convolution_backward_weight");
    await (await header(table, "Calls")).getByRole("button").click();
    const calls = await exactValues(table, 1);
    expect(calls).toEqual([...calls].sort((a, b) => b - a));
    await table.getByLabel("Filter Calls").fill(">300");
    await expect(table.getByRole("status")).toHaveText("showing 27 of 76");
    await table.getByLabel("Search Operators").fill("conv");
    await expect(table.getByRole("status")).not.toHaveText("showing 27 of 76");
    for (const name of await columnTexts(table, 0)) expect(name.toLowerCase()).toContain("conv");
    await table.getByLabel("Filter Calls").fill("");
  });

  await test.step("switching the grouping keeps the search, and exports what is shown", async () => {
    await frame.getByRole("button", { name: "Name + input shape", exact: true }).click();
    const table = card(frame, "Operators");
    await expect(table.getByRole("columnheader", { name: /^Input Shape/ })).toBeVisible();
    const csv = await exported(page, table, "Shown rows as CSV");
    const [keys = "", ...rows] = csv.text.trim().split("\r\n");
    expect(keys.split(",")).toEqual(expect.arrayContaining(["name", "input_shape", "calls", "device_self_us"]));
    expect(rows.length).toBeGreaterThan(0);
    for (const row of rows) expect(row.toLowerCase()).toContain("conv");
  });

  await test.step("kernels sort and filter", async () => {
    await goTo(frame, "kernels");
    const table = card(frame, "Kernels");
    await expect(table.getByRole("status")).toHaveText("67 rows");
    await (await header(table, "Total")).getByRole("button").click();
    await table.getByLabel("Filter Name").fill("sgemm");
    await expect(table.getByRole("status")).toHaveText(/^showing \d+ of 67$/);
    await expect.poll(async () => (await columnTexts(table, 0)).filter((name) => !name.includes("sgemm"))).toEqual([]);
  });
});

test("a link, a reload and back work inside TensorBoard", async ({ guarded: page, board }) => {
  await page.goto(`${board.url}#pytorch_profiler&${RUN}`);
  const frame = page.frameLocator("iframe");
  await goTo(frame, "operators");
  await card(frame, "Operators").getByLabel("Filter Calls").fill(">300");
  await expect(page).toHaveURL(/#pytorch_profiler&.*p\.pytorch_profiler\.view=operators/);
  await expect(page).toHaveURL(/p\.pytorch_profiler\.operators\.filter=calls%3E300/);

  await page.reload();
  await expect(card(frame, "Operators").getByRole("status")).toHaveText("showing 27 of 76");
  await expect(card(frame, "Operators").getByLabel("Filter Calls")).toHaveValue(">300");

  await goTo(frame, "kernels");
  await expect(card(frame, "Kernels")).toBeVisible();
  await page.goBack();
  await expect(card(frame, "Operators").getByRole("status")).toHaveText("showing 27 of 76");
  await expect(page).toHaveURL(/view=operators/);
});
