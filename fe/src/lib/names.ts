/**
 * The names of a kernel: short, demangled, or as recorded, from the columns `short_name`, `demangled_name` and
 * `name` of its row.
 */
import type { Row, Scalar, Table } from "../api/types";

export const NAME_KEY = "name";
export const SHORT_KEY = "short_name";
export const DEMANGLED_KEY = "demangled_name";

export type NameMode = "short" | "demangled" | "recorded";

export const NAME_MODES: readonly NameMode[] = ["short", "demangled", "recorded"];

export const MODE_TITLES: Readonly<Record<NameMode, string>> = {
  short: "Short",
  demangled: "Demangled",
  recorded: "As recorded",
};

/** The names of one kernel; null where it has only the recorded one. */
export interface KernelNames {
  readonly recorded: string;
  readonly short: string | null;
  readonly demangled: string | null;
}

/** The names of a slice in an answer; a kernel has several. */
export function namesOf({ name, short_name: short, demangled_name: demangled }: { readonly name: string | null; readonly short_name: string | null; readonly demangled_name: string | null }): KernelNames {
  return { recorded: name ?? "(no name)", short, demangled };
}

/** The mode named in the address; short when it is missing or unknown. */
export function nameModeOf(text: string | undefined): NameMode {
  return NAME_MODES.find((mode) => mode === text) ?? "short";
}

/** The name to show: the recorded one when the kernel has no other. */
export function shownName(names: KernelNames, mode: NameMode): string {
  return (mode === "recorded" ? null : names[mode]) ?? names.recorded;
}

/** For hovering: the full names, the demangled one first when the recorded one is mangled. */
export function fullNames({ recorded, demangled }: KernelNames): string {
  return demangled === null || demangled === recorded ? recorded : `${demangled}\n${recorded}`;
}

/** A function that reads the names of a row; null when the table has only recorded names. */
export function namesReader({ columns }: Pick<Table, "columns">): ((row: Row) => KernelNames) | null {
  const [name = -1, short = -1, demangled = -1] = [NAME_KEY, SHORT_KEY, DEMANGLED_KEY].map((key) => columns.findIndex((column) => column.key === key));
  if (name < 0 || short < 0) return null;
  const text = (cell: Scalar | undefined) => (typeof cell === "string" ? cell : null);
  return (row) => ({ recorded: text(row[name]) ?? "", short: text(row[short]), demangled: text(row[demangled]) });
}
