/** What a page owes to whoever cannot see it, or sees it in colours of their own. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

import type { Frame, Page } from "@playwright/test";

import { expect } from "./fixtures";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const LEAST_TARGET_PX = 24;
const LEAST_TEXT_PX = 12;

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** Every rule of axe, and sizes of targets and text; one line per fault. */
export async function faults(frame: Page | Frame): Promise<string[]> {
  await frame.evaluate(AXE);
  const axeFaults = await violations(frame, { rules: { "target-size": { enabled: true } } });
  return [...axeFaults, ...(await frame.evaluate(smallParts, [LEAST_TARGET_PX, LEAST_TEXT_PX] as const))];
}

/** What another theme can make worse; on a page that {@link faults} has looked at. */
export async function contrastFaults(frame: Page | Frame): Promise<string[]> {
  return violations(frame, { runOnly: ["color-contrast"] });
}

/** Switches the system to dark, which the page follows. */
export async function switchToDark(page: Page): Promise<void> {
  await page.emulateMedia({ colorScheme: "dark" });
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
}

async function violations(frame: Page | Frame, options: object): Promise<string[]> {
  const results = await frame.evaluate(async (axeOptions) => {
    const { axe } = window as unknown as { axe: { run: (context: Document, options: object) => Promise<{ violations: Violation[] }> } };
    return (await axe.run(document, { ...axeOptions, resultTypes: ["violations"] })).violations;
  }, options);
  return results.flatMap(({ id, nodes }) =>
    // A box of the flame graph is as wide as its time; its module has a row below too.
    nodes.filter(({ html }) => id !== "target-size" || !html.includes('class="flame-box"')).slice(0, 3).map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary ?? ""}`));
}

/** Runs in the page. Links inside of a sentence are as high as its lines; a box of the flame graph is as wide as its time. */
function smallParts([targetPx, textPx]: readonly [number, number]): string[] {
  const isShown = (element: Element) => element.checkVisibility({ visibilityProperty: true }) && element.getBoundingClientRect().width > 0;
  const named = (element: Element, size: string) => `${size}: <${element.tagName.toLowerCase()} class="${element.className}"> ${element.textContent.slice(0, 40)}`;
  const targets = [...document.querySelectorAll("button, a[href], select, input:not([type=checkbox]), summary, [role=treeitem], [role=tab]")].filter(
    (element) => isShown(element) && element.closest("p, dd") === null,
  );
  const small = targets.flatMap((element) => {
    const { width, height } = element.getBoundingClientRect();
    const isWide = width >= targetPx || element.classList.contains("flame-box");
    return Math.round(height) >= targetPx && isWide ? [] : [named(element, `target of ${Math.round(width)} × ${Math.round(height)} px`)];
  });
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const tiny: string[] = [];
  while (texts.nextNode() !== null) {
    const holder = texts.currentNode.parentElement;
    if (holder === null || (texts.currentNode.textContent ?? "").trim() === "" || !isShown(holder)) continue;
    const size = parseFloat(getComputedStyle(holder).fontSize);
    if (size < textPx) tiny.push(named(holder, `text of ${size} px`));
  }
  return [...new Set([...small, ...tiny])].slice(0, 12);
}
