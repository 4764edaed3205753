/** Which columns are shown, in which order and how wide; spare space goes to text columns. */
import { useMemo, useState } from "react";

import { NAME_KEY } from "../lib/names";
import { MIN_WIDTH_PX, NO_CHOICES, type ColumnChoices } from "./columnChoices";
import { measuresFirst } from "./columnOrder";
import type { ColumnView } from "./columnView";

export interface ColumnLayout {
  /** In drawing order. */
  readonly visible: readonly ColumnView[];
  readonly widths: ReadonlyMap<string, number>;
  readonly totalWidth: number;
  readonly hidden: ReadonlySet<string>;
  /** Whether the user changed anything. */
  readonly isChosen: boolean;
  hide: (key: string, hide: boolean) => void;
  /** Sets the width of a column; null resets it. `settled` is false during a drag. */
  resize: (key: string, widthPx: number | null, settled: boolean) => void;
  /** Resets columns and widths to the defaults. */
  reset: () => void;
}

const SCROLLBAR_PX = 14;

export function useColumnLayout(
  views: readonly ColumnView[],
  hidden: ReadonlySet<string>,
  hiddenAtFirst: ReadonlyMap<string, string>,
  containerWidth: number,
  mainKey: string | null,
  [choices, setChoices]: readonly [ColumnChoices, (next: ColumnChoices) => void],
): ColumnLayout {
  // A drag is written when it ends: browsers limit how often the address may change.
  const [dragged, setDragged] = useState<ReadonlyMap<string, number> | null>(null);
  const chosen = dragged ?? choices.widths;
  const visible = useMemo(() => measuresFirst(views.filter(({ column }) => !hidden.has(column.key)), mainKey), [views, hidden, mainKey]);
  const widths = useMemo(() => widthsOf(visible, chosen, containerWidth - SCROLLBAR_PX), [visible, chosen, containerWidth]);
  return {
    visible,
    widths,
    totalWidth: sumOf(widths),
    hidden: new Set(views.map(({ column }) => column.key).filter((key) => hidden.has(key))),
    isChosen: choices.shown.size > 0 || choices.widths.size > 0,
    hide: (key, hide) => {
      const shown = new Map(choices.shown).set(key, !hide);
      // The default is not stored.
      if (hide === hiddenAtFirst.has(key)) shown.delete(key);
      setChoices({ ...choices, shown });
    },
    resize: (key, widthPx, settled) => {
      const next = new Map(choices.widths);
      if (widthPx === null) next.delete(key);
      else next.set(key, Math.max(MIN_WIDTH_PX, widthPx));
      setDragged(settled ? null : next);
      if (settled) setChoices({ ...choices, widths: next });
    },
    reset: () => setChoices(NO_CHOICES),
  };
}

/** The widths of the columns in `roomPx`. */
export function widthsOf(visible: readonly ColumnView[], chosen: ReadonlyMap<string, number>, roomPx: number): Map<string, number> {
  const widths = new Map(visible.map(({ column, width }) => [column.key, chosen.get(column.key) ?? Math.max(MIN_WIDTH_PX, width)]));
  giveSpare(visible, widths, chosen, roomPx);
  return widths;
}

function sumOf(widths: ReadonlyMap<string, number>): number {
  return [...widths.values()].reduce((sum, width) => sum + width, 0);
}

/** Minimal widths of text columns; names distinguish rows and get more. */
const MIN_TEXT_PX = 160;
const MIN_NAME_PX = 420;
/** In a narrower table neither takes more than this share, so that a number is beside it. */
const NARROW_PX = 560;
const MAX_TEXT_SHARE = 0.45;
/** Keys of columns with names, also with several in a row. */
const NAME_KEYS: ReadonlySet<string> = new Set([NAME_KEY, "sequence"]);

/**
 * Gives spare space to the texts that would be shortened, the widest first, never more than they need. Missing
 * space (negative) is taken from the widest, down to the minimum.
 */
function giveSpare(
  visible: readonly ColumnView[],
  widths: Map<string, number>,
  chosen: ReadonlyMap<string, number>,
  roomPx: number,
): void {
  let remaining = roomPx - sumOf(widths);
  const atMost = roomPx < NARROW_PX ? Math.max(MIN_WIDTH_PX, roomPx * MAX_TEXT_SHARE) : Infinity;
  const texts = visible.filter((view) => view.column.type === "string" && !chosen.has(view.column.key));
  for (const { column, idealWidth } of texts.toSorted((a, b) => b.idealWidth - a.idealWidth)) {
    const width = widths.get(column.key) ?? 0;
    const min = Math.min(width, atMost, NAME_KEYS.has(column.key) ? MIN_NAME_PX : MIN_TEXT_PX);
    const next = Math.max(min, Math.min(Math.max(width, idealWidth), width + remaining));
    widths.set(column.key, next);
    remaining -= next - width;
  }
}
