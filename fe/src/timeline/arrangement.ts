/** Which tracks are shown, and in what order, as the reader arranged them. Pure. */

/** The user's arrangement apart from folding; `link.ts` writes it into the address. */
export interface Arrangement {
  /** Keys of the tracks that stay on top, from above. */
  readonly pinned: readonly string[];
  /** Keys of tracks and groups that were moved among each other: see {@link inOrder}. */
  readonly order: readonly string[];
  /** Only tracks whose names contain these words are shown; all where it is empty. */
  readonly filter: string;
}

export const DEFAULT_ARRANGEMENT: Arrangement = { pinned: [], order: [], filter: "" };

/** More of them make no address. */
export const MAX_PINNED = 32;
export const MAX_ORDER = 300;
export const MAX_FILTER = 100;

/**
 * The items that `order` lists are put in its order, at the positions that they have among all items:
 *
 *     a b c d   in the order   d b   is   a d c b
 */
export function inOrder<T>(items: readonly T[], keyOf: (item: T) => string, order: readonly string[]): readonly T[] {
  if (order.length === 0) return items;
  const position = new Map(order.map((key, index) => [key, index]));
  const rank = (item: T) => position.get(keyOf(item)) ?? -1;
  const listed = items.filter((item) => rank(item) >= 0).toSorted((one, other) => rank(one) - rank(other));
  let next = 0;
  return items.map((item) => (rank(item) < 0 ? item : (listed[next++] ?? item)));
}

/**
 * The order that puts `key` before (or after) another of its siblings; null where it would be too long.
 *
 * @param siblings All that can be moved among each other, in their default order.
 */
export function orderWith(order: readonly string[], siblings: readonly string[], key: string, target: string, isAfter: boolean): readonly string[] | null {
  const now = inOrder(siblings, (each) => each, order).filter((each) => each !== key);
  const at = now.indexOf(target);
  if (at < 0 || key === target || !siblings.includes(key)) return order;
  const next = now.toSpliced(at + Number(isAfter), 0, key);
  const moved = next.filter((each, position) => each !== siblings[position]);
  const after = [...order.filter((each) => !siblings.includes(each)), ...moved];
  return after.length > MAX_ORDER ? null : after;
}

/** Like {@link orderWith}, of a list that names all. */
export function listWith(list: readonly string[], key: string, target: string, isAfter: boolean): readonly string[] {
  const rest = list.filter((each) => each !== key);
  const at = rest.indexOf(target);
  return at < 0 || rest.length === list.length ? list : rest.toSpliced(at + Number(isAfter), 0, key);
}

/** Whether the names of a track, of its group among them, hold every word of the filter, whatever the case. */
export function namesMatch(filter: string, names: readonly (string | null)[]): boolean {
  const text = names.join(" ").toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** The pins with one more, last, or without it; null where there is no room for more. */
export function togglePin(pinned: readonly string[], key: string): readonly string[] | null {
  if (pinned.includes(key)) return pinned.filter((each) => each !== key);
  return pinned.length >= MAX_PINNED ? null : [...pinned, key];
}
