/** Lanes of who is busy when, in which role: from the charts and periods of the view of roles. */
import type { Series, Table, View } from "../../api/types";
import { numberOf, textOf } from "../../lib/rows";

export interface Part {
  readonly startUs: number;
  readonly endUs: number;
  /** Busy share of the recorded time; null where nothing is recorded. */
  readonly pct: number | null;
  /** Title of the role at that time; null where it is unknown. */
  readonly role: string | null;
}

export interface Lane {
  readonly name: string;
  readonly parts: readonly Part[];
}

export interface Lanes {
  readonly ofRanks: boolean;
  readonly lanes: readonly Lane[];
  readonly roles: readonly string[];
  readonly startUs: number;
  readonly endUs: number;
}

interface Period {
  readonly startUs: number;
  readonly endUs: number;
  readonly role: string;
}

/** A lane per rank where the view has them, else per role; null without any. */
export function lanesOf(view: View): Lanes | null {
  const ranks = view.series["rank_activity"];
  const series = ranks ?? view.series["role_activity"];
  const periods = view.tables["role_periods"];
  const first = series?.lines[0];
  if (series === undefined || first === undefined || first.x.length === 0) return null;
  const startUs = first.x[0] ?? 0;
  const endUs = endOf(series);
  const byWorker = periods === undefined ? new Map<string, Period[]>() : periodsOf(periods);
  const lanes = series.lines.map(({ name, x, y }) => ({
    name,
    parts: x.map((at, index) => {
      const until = x[index + 1] ?? endUs;
      const role = ranks === undefined ? name : roleAt(byWorker.get(name) ?? [], (at + until) / 2);
      return { startUs: at, endUs: until, pct: y[index] ?? null, role };
    }),
  }));
  const named = lanes.flatMap(({ parts }) => parts.flatMap(({ role }) => role ?? []));
  const order = view.tables["roles"] === undefined ? [] : rolesOf(view.tables["roles"]);
  return { ofRanks: ranks !== undefined, lanes, roles: [...new Set([...order, ...named])], startUs, endUs };
}

/** All parts are of one length. */
function endOf({ lines }: Series): number {
  const x = lines[0]?.x ?? [];
  const last = x[x.length - 1] ?? 0;
  return last + (x.length > 1 ? last - (x[x.length - 2] ?? last) : 1);
}

function rolesOf(table: Table): string[] {
  return table.rows.map((row) => textOf(table, row, "role"));
}

function periodsOf(table: Table): Map<string, Period[]> {
  const byWorker = new Map<string, Period[]>();
  for (const row of table.rows) {
    const worker = textOf(table, row, "worker");
    const period = { startUs: numberOf(table, row, "start_us") ?? 0, endUs: numberOf(table, row, "end_us") ?? 0, role: textOf(table, row, "role") };
    byWorker.set(worker, [...(byWorker.get(worker) ?? []), period]);
  }
  return byWorker;
}

/** The shortest of the periods around a moment: it says the most. */
function roleAt(periods: readonly Period[], atUs: number): string | null {
  const around = periods.filter(({ startUs, endUs }) => startUs <= atUs && atUs < endUs);
  const shortest = around.reduce<Period | null>((best, each) => (best === null || each.endUs - each.startUs < best.endUs - best.startUs ? each : best), null);
  return shortest?.role ?? null;
}

export interface Box {
  readonly x: number;
  readonly width: number;
  /** Share of the lane's height, from its foot. */
  readonly share: number;
  readonly role: string | null;
}

/** What of a lane is drawn: parts of one height and role are one box. */
export function laneBoxes({ parts }: Lane, { startUs, endUs }: Pick<Lanes, "startUs" | "endUs">, widthPx: number): Box[] {
  const scale = widthPx / Math.max(endUs - startUs, 1e-9);
  const boxes: Box[] = [];
  for (const { startUs: from, endUs: to, pct, role } of parts) {
    if (pct === null) continue;
    const [x, width, share] = [(from - startUs) * scale, (to - from) * scale, pct / 100];
    const before = boxes[boxes.length - 1];
    if (before !== undefined && before.share === share && before.role === role && Math.abs(before.x + before.width - x) < 0.01) {
      boxes[boxes.length - 1] = { ...before, width: x + width - before.x };
    } else {
      boxes.push({ x, width, share, role });
    }
  }
  return boxes;
}
