/**
 * The order in which the columns of a table are drawn: that of the server, but for three things. A name that is the
 * only text before which times stand comes first. A share stands behind what it is a share of. And where what describes
 * a row (its operator, its launch) would push the measures out of sight, the measures come first.
 */
import type { Column } from "../api/types";
import { isMoment } from "../lib/format";
import type { ColumnView } from "./columnView";

/** Descriptions wider than this together stand behind the measures. */
const ROOM_PX = 240;
const COMPARED = /^(baseline|candidate|delta)_/;

/** @param mainKey The measure that rows are ordered by at first: what `total_pct` and `cumulative_pct` are shares of. */
export function measuresFirst(given: readonly ColumnView[], mainKey: string | null): readonly ColumnView[] {
  const views = nameFirst(given);
  if (!views.some(({ column }) => column.additive) || views.some(({ column }) => COMPARED.test(column.key))) return views;
  const bases = new Map(views.map((view) => [view, shareBase(view.column, views, mainKey)]));
  const ordered = views
    .filter((view) => bases.get(view) === null)
    .flatMap((view) => [view, ...views.filter((share) => bases.get(share) === view)]);
  const label = ordered.findIndex(({ column }) => column.type === "string");
  const leads = (view: ColumnView, place: number) => place <= label || view.column.key === "name";
  const start = ordered.findIndex(({ column }) => column.additive);
  const describing = ordered.filter((view, place) => place < start && !leads(view, place));
  if (describing.reduce((sum, { width }) => sum + width, 0) <= ROOM_PX) return ordered;
  const after = ordered.slice(start);
  const end = after.findIndex((view) => !isMeasure(view.column) && bases.get(view) === null);
  const measures = end < 0 ? after : after.slice(0, end);
  return [...ordered.slice(0, start).filter(leads), ...measures, ...describing, ...after.slice(measures.length)];
}

function nameFirst(views: readonly ColumnView[]): readonly ColumnView[] {
  const place = views.findIndex(({ column }) => column.type === "string");
  const name = views[place];
  if (name?.column.key !== "name" || !views.slice(0, place).some(({ column }) => isMeasure(column))) return views;
  return [name, ...views.filter((view) => view !== name)];
}

function isMeasure(column: Column): boolean {
  return column.additive || ((column.unit === "us" || column.unit === "ns") && !isMoment(column.key));
}

/** The column that `device_self_pct` (`device_self_us`) or one of the two shares every table may have is a share of. */
function shareBase({ key, unit }: Column, views: readonly ColumnView[], mainKey: string | null): ColumnView | null {
  if (unit !== "pct") return null;
  const wholes = views.filter(({ column }) => column.additive && column.unit !== "pct");
  const stem = key.replace(/_pct$/, "");
  if (stem === "total" || stem === "cumulative") return wholes.find(({ column }) => column.key === mainKey) ?? null;
  return wholes.find(({ column }) => column.key.replace(/_[a-z]+$/, "") === stem) ?? null;
}
