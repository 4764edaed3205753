/** Which columns are shown and how wide: TanStack Table keeps both, the free space goes to the first text. */
import {
  getCoreRowModel,
  useReactTable,
  type ColumnSizingState,
  type Header,
  type VisibilityState,
} from "@tanstack/react-table";
import { useMemo, useState } from "react";

import type { ColumnView } from "./columnView";

export interface ColumnLayout {
  readonly headers: readonly Header<never, unknown>[];
  readonly visible: readonly ColumnView[];
  readonly byKey: ReadonlyMap<string, ColumnView>;
  readonly widths: ReadonlyMap<string, number>;
  readonly totalWidth: number;
  readonly hidden: ReadonlySet<string>;
  hide: (key: string, hide: boolean) => void;
}

interface Remembered {
  readonly sizing: ColumnSizingState;
  readonly visibility: VisibilityState;
}

/** By table, while the page is open: switching views must not lose the widths. */
const remembered = new Map<string, Remembered>();
const NO_ROWS: never[] = [];
const MIN_WIDTH_PX = 48;
const SCROLLBAR_PX = 14;

export function useColumnLayout(
  name: string,
  views: readonly ColumnView[],
  hiddenAtFirst: readonly string[],
  containerWidth: number,
): ColumnLayout {
  const [state, setState] = useState<Remembered>(
    () => remembered.get(name) ?? { sizing: {}, visibility: {} },
  );
  const update = (next: Remembered) => {
    remembered.set(name, next);
    setState(next);
  };
  const visibility = useMemo(
    () => ({ ...Object.fromEntries(hiddenAtFirst.map((key) => [key, false])), ...state.visibility }),
    [hiddenAtFirst, state.visibility],
  );
  const columns = useMemo(
    () =>
      views.map((view) => ({
        id: view.column.key,
        accessorFn: () => null,
        size: view.width,
        minSize: MIN_WIDTH_PX,
        maxSize: 4000,
      })),
    [views],
  );
  const table = useReactTable<never>({
    data: NO_ROWS,
    columns,
    getCoreRowModel: getCoreRowModel(),
    columnResizeMode: "onChange",
    state: { columnSizing: state.sizing, columnVisibility: visibility },
    onColumnSizingChange: (change) =>
      update({ ...state, sizing: typeof change === "function" ? change(state.sizing) : change }),
  });

  const byKey = useMemo(() => new Map(views.map((view) => [view.column.key, view])), [views]);
  const headers = table.getHeaderGroups()[0]?.headers ?? [];
  const visible = headers.flatMap((header) => byKey.get(header.id) ?? []);
  const widths = new Map(headers.map((header) => [header.id, header.getSize()]));
  const spare = containerWidth - SCROLLBAR_PX - [...widths.values()].reduce((sum, width) => sum + width, 0);
  giveSpare(visible, widths, state.sizing, spare);
  return {
    headers,
    visible,
    byKey,
    widths,
    totalWidth: [...widths.values()].reduce((sum, width) => sum + width, 0),
    hidden: new Set(Object.keys(visibility).filter((key) => visibility[key] === false)),
    hide: (key, hide) => update({ ...state, visibility: { ...state.visibility, [key]: !hide } }),
  };
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
  chosen: ColumnSizingState,
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
