/** The visible range in the timeline's address. */
import { expect, type Page } from "@playwright/test";

/** A range of the trace, ns since its first event. */
interface Shown {
  readonly start: number;
  readonly end: number;
}

/** The range the address names; all of time while it names none. */
export function addressed(page: Page): Shown {
  const [, start = -Infinity, end = Infinity] = (/at=(-?\d+)-(\d+)/.exec(page.url()) ?? []).map(Number);
  return { start, end };
}

export function lengthOf({ start, end }: Shown): number {
  return end - start;
}

/** The range once the page has come to rest: the address follows a moment after the last frame. */
export async function rested(page: Page): Promise<Shown> {
  let last = "";
  await expect
    .poll(
      () => {
        const before = last;
        last = page.url();
        return last === before;
      },
      { intervals: [600] },
    )
    .toBe(true);
  return addressed(page);
}
