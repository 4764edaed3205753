/**
 * The order of the columns of a table: that of the server with four exceptions. A name with times before it moves to
 * the front. A share follows the column that it is a share of. And where descriptions of a row (its operator, its
 * launch) would push the measures out of view, the measures come first.
 * Arguments of events, which the server adds at the end, follow the measures.
 */
import type { Column } from "../api/types";
import { isMoment } from "../lib/format";
import type { ColumnView } from "./columnView";

/** Descriptions that are wider than this together follow the measures. */
const ROOM_PX = 240;
const COMPARED = /^(baseline|candidate|delta)_/;

/** @param mainKey The measure of the default sort order: `total_pct` and `cumulative_pct` are shares of it. */
export function measuresFirst(columnViews: readonly ColumnView[], mainKey: string | null): readonly ColumnView[] {
  const ordered = withMeasuresFirst(columnViews, mainKey);
  const added = ordered.filter(isArgument);
  const rest = ordered.filter((view) => !isArgument(view));
  const start = rest.findIndex(({ column }) => column.additive);
  const after = rest.findIndex(({ column }, index) => index > start && !isMeasure(column) && column.unit !== "pct");
  if (added.length === 0 || start < 0 || after < 0) return ordered;
  return [...rest.slice(0, after), ...added, ...rest.slice(after)];
}

function isArgument({ column }: ColumnView): boolean {
  return column.key.startsWith("arg_");
}

function withMeasuresFirst(columnViews: readonly ColumnView[], mainKey: string | null): readonly ColumnView[] {
  const views = nameFirst(columnViews);
  if (!views.some(({ column }) => column.additive) || views.some(({ column }) => COMPARED.test(column.key))) return views;
  const bases = new Map(views.map((view) => [view, shareBase(view.column, views, mainKey)]));
  const ordered = views
    .filter((view) => bases.get(view) === null)
    .flatMap((view) => [view, ...views.filter((share) => bases.get(share) === view)]);
  const label = ordered.findIndex(({ column }) => column.type === "string");
  const leads = (view: ColumnView, index: number) => index <= label || view.column.key === "name";
  const start = ordered.findIndex(({ column }) => column.additive);
  const describing = ordered.filter((view, index) => index < start && !leads(view, index));
  if (describing.reduce((sum, { width }) => sum + width, 0) <= ROOM_PX) return ordered;
  const after = ordered.slice(start);
  const end = after.findIndex((view) => !isMeasure(view.column) && bases.get(view) === null);
  const measures = end < 0 ? after : after.slice(0, end);
  return [...ordered.slice(0, start).filter(leads), ...measures, ...describing, ...after.slice(measures.length)];
}

function nameFirst(views: readonly ColumnView[]): readonly ColumnView[] {
  const index = views.findIndex(({ column }) => column.type === "string");
  const name = views[index];
  if (name?.column.key !== "name" || !views.slice(0, index).some(({ column }) => isMeasure(column))) return views;
  return [name, ...views.filter((view) => view !== name)];
}

function isMeasure(column: Column): boolean {
  return column.additive || ((column.unit === "us" || column.unit === "ns") && !isMoment(column.key));
}

/** The column that a share belongs to: `device_self_us` for `device_self_pct`, the main measure for `total_pct`. */
function shareBase({ key, unit }: Column, views: readonly ColumnView[], mainKey: string | null): ColumnView | null {
  if (unit !== "pct") return null;
  const wholes = views.filter(({ column }) => column.additive && column.unit !== "pct");
  const stem = key.replace(/_pct$/, "");
  if (stem === "total" || stem === "cumulative") return wholes.find(({ column }) => column.key === mainKey) ?? null;
  return wholes.find(({ column }) => column.key.replace(/_[a-z]+$/, "") === stem) ?? null;
}
