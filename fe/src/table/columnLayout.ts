/** Which columns are shown and how wide; the free space goes to the first text. */
import { useMemo, useState } from "react";

import type { ColumnView } from "./columnView";

export interface ColumnLayout {
  readonly visible: readonly ColumnView[];
  readonly widths: ReadonlyMap<string, number>;
  readonly totalWidth: number;
  readonly hidden: ReadonlySet<string>;
  hide: (key: string, hide: boolean) => void;
  /** A width for the column; null for the one it had at first. */
  resize: (key: string, widthPx: number | null) => void;
}

/** What a person chose, by column key. */
interface Choices {
  readonly widths: Readonly<Record<string, number>>;
  readonly shown: Readonly<Record<string, boolean>>;
}

/** By table, while the page is open: switching views must not lose the widths. */
const remembered = new Map<string, Choices>();
const NO_CHOICES: Choices = { widths: {}, shown: {} };
const MIN_WIDTH_PX = 48;
const SCROLLBAR_PX = 14;

export function useColumnLayout(
  name: string,
  views: readonly ColumnView[],
  hiddenAtFirst: readonly string[],
  containerWidth: number,
): ColumnLayout {
  const [choices, setChoices] = useState(() => remembered.get(name) ?? NO_CHOICES);
  const update = (next: Choices) => {
    remembered.set(name, next);
    setChoices(next);
  };
  const hidden = useMemo(
    () => new Set(views.map(({ column }) => column.key).filter((key) => !(choices.shown[key] ?? !hiddenAtFirst.includes(key)))),
    [views, hiddenAtFirst, choices.shown],
  );
  const visible = useMemo(() => views.filter(({ column }) => !hidden.has(column.key)), [views, hidden]);
  const widths = useMemo(() => widthsOf(visible, choices.widths, containerWidth - SCROLLBAR_PX), [visible, choices.widths, containerWidth]);
  return {
    visible,
    widths,
    totalWidth: sumOf(widths),
    hidden,
    hide: (key, hide) => update({ ...choices, shown: { ...choices.shown, [key]: !hide } }),
    resize: (key, widthPx) => {
      const others = Object.fromEntries(Object.entries(choices.widths).filter(([each]) => each !== key));
      update({ ...choices, widths: widthPx === null ? others : { ...others, [key]: Math.max(MIN_WIDTH_PX, widthPx) } });
    },
  };
}

/** The widths in a room of `roomPx`. */
export function widthsOf(visible: readonly ColumnView[], chosen: Choices["widths"], roomPx: number): Map<string, number> {
  const widths = new Map(visible.map(({ column, width }) => [column.key, chosen[column.key] ?? Math.max(MIN_WIDTH_PX, width)]));
  giveSpare(visible, widths, chosen, roomPx - sumOf(widths));
  return widths;
}

function sumOf(widths: ReadonlyMap<string, number>): number {
  return [...widths.values()].reduce((sum, width) => sum + width, 0);
}

/** Below this a name says nothing. */
const LEAST_TEXT_PX = 240;

/**
 * Free space goes to the texts that would be shortened, the widest first; never more than they need.
 * Missing space (negative) is taken from the widest, down to what can still be read.
 */
function giveSpare(
  visible: readonly ColumnView[],
  widths: Map<string, number>,
  chosen: Readonly<Record<string, number>>,
  spare: number,
): void {
  let left = spare;
  const texts = visible.filter((view) => view.column.type === "string" && !(view.column.key in chosen));
  for (const { column, idealWidth } of texts.toSorted((a, b) => b.idealWidth - a.idealWidth)) {
    const width = widths.get(column.key) ?? 0;
    const least = Math.min(width, LEAST_TEXT_PX);
    const next = Math.max(least, Math.min(Math.max(width, idealWidth), width + left));
    widths.set(column.key, next);
    left -= next - width;
  }
}
