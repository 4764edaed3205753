/** Going from page to page as a person would: by the rail, then by the tab. */
import { expect, type Locator } from "@playwright/test";

import { pageOf } from "../src/pages/pages";
import type { Scope } from "./tables";

export function railOf(scope: Scope): Locator {
  return scope.getByRole("navigation", { name: "Pages" });
}

/** @param tab The id of a part of the view, if not its first. */
export async function goTo(scope: Scope, view: string, tab = view): Promise<void> {
  const page = pageOf({ name: view, title: view, help: "" });
  await railOf(scope).getByRole("link", { name: page.title, exact: true }).click();
  if (page.title !== "Timeline") await expect(scope.getByRole("heading", { level: 1 })).toHaveText(page.title);
  const own = page.tabs.filter((each) => each.view === view);
  const title = (own.find(({ id }) => id === tab) ?? own[0])?.title;
  const link = scope.getByRole("navigation", { name: `${page.title}: tabs` }).getByRole("link", { name: title ?? view, exact: true });
  if (page.tabs.length < 2) return;
  // No click, and so no step back, where the page opened with it.
  if ((await link.getAttribute("aria-current")) === null) await link.click();
  await expect(link).toHaveAttribute("aria-current", "page");
}
