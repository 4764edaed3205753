/** Arguments that no column models, chosen on the page of kernels; and an execution trace without times. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test } from "./fixtures";
import { goTo, railOf } from "./pages";
import { serve } from "./servers";
import { card } from "./tables";

test("an argument of the file becomes columns of the table", async ({ guarded: page }) => {
  const folder = mkdtempSync(join(tmpdir(), "arguments-"));
  const kernel = (at: number, queued: number) => ({
    ph: "X", cat: "kernel", name: "gemm", pid: 0, tid: 7, ts: at, dur: 5, args: { device: 0, stream: 7, correlation: at, queued, api_key: "hunter2" },
  });
  writeFileSync(join(folder, "a.pt.trace.json"), JSON.stringify({ traceEvents: [kernel(10, 1), kernel(20, 4)] }));
  const server = await serve(folder);
  try {
    await page.goto(`${server.url}#view=kernels`);
    const table = card(page, "Kernels");
    await table.getByRole("button", { name: "Arguments" }).click();
    const search = table.getByRole("searchbox", { name: "Search the arguments" });
    await expect(table.getByRole("checkbox", { name: /^stream/ })).toHaveCount(0);
    await expect(table.getByText("hunter2")).toHaveCount(0);
    await search.fill("queu");
    await table.getByRole("checkbox", { name: /^queued/ }).check();
    await table.getByRole("button", { name: "Read 1 argument" }).click();
    await expect(table.getByRole("columnheader", { name: /Mean queued/ })).toBeVisible();
    await expect(table).toContainText("2.5");
    await table.getByRole("button", { name: "Arguments" }).click();
    await expect(table.getByRole("checkbox", { name: /^queued/ })).toBeChecked();
  } finally {
    await server.stop();
  }
});

test("an execution trace shows operators, and why nothing else", async ({ guarded: page }) => {
  const folder = mkdtempSync(join(tmpdir(), "execution-"));
  const node = (id: number, name: string) => ({ id, name, ctrl_deps: 0, inputs: { values: [], shapes: [], types: [] }, attrs: [{ name: "rf_id", type: "uint64", value: id }] });
  writeFileSync(join(folder, "et_rank0.json"), JSON.stringify({ schema: "1.1.1-chakra.0.0.4", nodes: [node(1, "aten::mm"), node(2, "aten::mm")] }));
  const server = await serve(folder);
  try {
    await page.goto(server.url);
    await expect(page.getByText("1 operators were called 2 times. An execution trace records no times.")).toBeVisible();
    await expect(card(page, "Operators")).toContainText("aten::mm");
    await expect(railOf(page).getByRole("link", { name: "Kernels" })).toHaveCount(0);
    await goTo(page, "overview");
    await expect(page.getByText("An execution trace records no times.").first()).toBeVisible();
  } finally {
    await server.stop();
  }
});
