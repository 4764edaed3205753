/** Reading tables and exports as a person would. */
import { readFileSync } from "node:fs";

import { expect, type FrameLocator, type Locator, type Page } from "@playwright/test";

export type Scope = Page | FrameLocator;

/** The card of a table or chart by its heading: a landmark, a group where it belongs to a row or a
 * chart, a figure where it is one picture. */
export function card(scope: Scope, title: string): Locator {
  const named = { name: title, exact: true };
  return scope.getByRole("region", named).or(scope.getByRole("group", named)).or(scope.getByRole("figure", named));
}

/** A chart that is drawn: before that, nothing answers the mouse. */
export async function drawnChart(scope: Scope, title: string): Promise<Locator> {
  const chart = scope.getByRole("img", { name: `Chart: ${title}` });
  await expect(chart).toHaveAttribute("aria-busy", "false");
  return chart.locator("canvas").first();
}

/** The texts of the drawn rows in one column, by its position among the shown ones. */
export async function columnTexts(table: Locator, column: number): Promise<string[]> {
  return table.locator(".grid-body > .grid-row").evaluateAll(
    (rows, index) => rows.map((row) => row.querySelectorAll(".grid-cell")[index]?.textContent ?? ""),
    column,
  );
}

/** The exact values of the drawn rows in one column, as the titles show them. */
export async function exactValues(table: Locator, column: number): Promise<number[]> {
  const titles = await table.locator(".grid-body > .grid-row").evaluateAll(
    (rows, index) => rows.map((row) => row.querySelectorAll(".grid-cell")[index]?.getAttribute("title") ?? ""),
    column,
  );
  return titles.map((title) => Number(title.replaceAll("\u202f", "").replace(/[^\d.eE-].*$/, "")));
}

export async function header(table: Locator, title: string): Promise<Locator> {
  const cell = table.getByRole("columnheader", { name: new RegExp(`^${title}`) });
  await expect(cell).toBeVisible();
  return cell;
}

/** Saves by the menu of a table and returns what was saved. */
export async function exported(page: Page, table: Locator, item: string): Promise<{ name: string; text: string }> {
  await table.getByRole("button", { name: "Export" }).click();
  const [download] = await Promise.all([page.waitForEvent("download"), table.getByRole("button", { name: item }).click()]);
  return { name: download.suggestedFilename(), text: readFileSync(await download.path(), "utf8") };
}
