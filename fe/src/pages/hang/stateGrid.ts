/** Where the ranks of a group stand in its last collectives: one line per set of ranks that stand alike. */
import type { Table } from "../../api/types";
import { numberOf, textOf } from "../../lib/rows";

export interface GridCell {
  readonly state: string;
  /** What the ranks called; empty for a collective that they did not enter. */
  readonly call: string;
  /** Whether ranks called something else under the same number. */
  readonly isOther: boolean;
}

export interface GridLine {
  readonly ranks: readonly number[];
  /** Per collective; null where nothing is known. */
  readonly cells: readonly (GridCell | null)[];
}

export interface StateGrid {
  readonly group: string;
  readonly sequences: readonly number[];
  /** Position of the collective in which the group hangs; -1 for none. */
  readonly hang: number;
  readonly lines: readonly GridLine[];
}

/** The numbers in `"0-3, 7"`. */
export function ranksIn(text: string): number[] {
  const ranks: number[] = [];
  for (const part of text.split(", ")) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(part);
    if (match === null) continue;
    const first = Number(match[1]);
    const last = match[2] === undefined ? first : Number(match[2]);
    for (let rank = first; rank <= last; rank++) ranks.push(rank);
  }
  return ranks;
}

/** The groups of a table, in its order. */
export function groupsOf(table: Table): string[] {
  return [...new Set(table.rows.map((row) => textOf(table, row, "group")))];
}

/** @param table `hang_collectives`. */
export function stateGrid(table: Table, group: string): StateGrid {
  const rows = table.rows.filter((row) => textOf(table, row, "group") === group);
  const sequences = [...new Set(rows.map((row) => numberOf(table, row, "sequence") ?? 0))].sort((a, b) => a - b);
  const column = new Map(sequences.map((sequence, index) => [sequence, index]));
  const byRank = new Map<number, (GridCell | null)[]>();
  const calls = sequences.map(() => new Map<string, number>());
  for (const row of rows) {
    const at = column.get(numberOf(table, row, "sequence") ?? 0) ?? 0;
    const state = textOf(table, row, "state");
    const call = [textOf(table, row, "operation"), textOf(table, row, "input_sizes"), textOf(table, row, "types")].filter((part) => part !== "").join(" ");
    const ranks = ranksIn(textOf(table, row, "ranks"));
    const counts = calls[at];
    if (call !== "" && counts !== undefined) counts.set(call, (counts.get(call) ?? 0) + ranks.length);
    for (const rank of ranks) {
      const cells = byRank.get(rank) ?? sequences.map(() => null);
      cells[at] = { state, call, isOther: false };
      byRank.set(rank, cells);
    }
  }
  const usual = calls.map((counts) => [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? "");
  const lines = new Map<string, { ranks: number[]; cells: (GridCell | null)[] }>();
  for (const rank of [...byRank.keys()].sort((a, b) => a - b)) {
    const cells = (byRank.get(rank) ?? []).map((cell, at) => (cell === null || cell.call === "" ? cell : { ...cell, isOther: cell.call !== usual[at] }));
    const key = JSON.stringify(cells);
    const line = lines.get(key);
    if (line === undefined) lines.set(key, { ranks: [rank], cells });
    else line.ranks.push(rank);
  }
  const hangs = rows.find((row) => textOf(table, row, "is_hang") === "true" || row[indexOf(table, "is_hang")] === true);
  return { group, sequences, hang: hangs === undefined ? -1 : (column.get(numberOf(table, hangs, "sequence") ?? 0) ?? -1), lines: [...lines.values()] };
}

function indexOf(table: Table, key: string): number {
  return table.columns.findIndex((column) => column.key === key);
}

/** `0-3, 7`; of many stretches the first, and how many ranks there are. */
export function ranksText(ranks: readonly number[], mostParts = 6): string {
  const parts: [number, number][] = [];
  for (const rank of ranks) {
    const last = parts[parts.length - 1];
    if (last !== undefined && last[1] === rank - 1) last[1] = rank;
    else parts.push([rank, rank]);
  }
  const texts = parts.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`));
  return texts.length <= mostParts ? texts.join(", ") : `${texts.slice(0, mostParts).join(", ")} … (${ranks.length} ranks)`;
}
