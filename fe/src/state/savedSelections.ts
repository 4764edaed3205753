/**
 * Selections saved under a name, to switch between: how the trace is split into iterations and which of these
 * are selected. They are in the address, `aggregations=warm;name:train_step;5:8,all;;`: name, iterations and
 * steps of each between semicolons, each text escaped.
 */
import type { Params } from "./address";

export const SAVED_SELECTIONS_KEY = "aggregations";
/** An address has to fit into a mail, and people have to read the list. */
export const MAX_SAVED = 20;
const MAX_NAME = 60;

export interface SavedSelection {
  readonly name: string;
  /** As `iterations_by=`; null for the steps of the trace. */
  readonly iterationsBy: string | null;
  /** As `steps=`; null for all. */
  readonly steps: string | null;
}

export function parseSavedSelections(text: string | undefined): readonly SavedSelection[] {
  const all = (text ?? "").split(",").flatMap((part): SavedSelection[] => {
    const [name = "", iterationsBy = "", steps = ""] = part.split(";").map(decoded);
    return name.trim() === "" ? [] : [{ name: name.slice(0, MAX_NAME), iterationsBy: iterationsBy || null, steps: steps || null }];
  });
  return all.filter(({ name }, index) => all.findIndex((other) => other.name === name) === index).slice(0, MAX_SAVED);
}

/** Empty for none. */
export function formatSavedSelections(selections: readonly SavedSelection[]): string {
  return selections.map(({ name, iterationsBy, steps }) => [name, iterationsBy ?? "", steps ?? ""].map(encodeURIComponent).join(";")).join(",");
}

/** The current selection, without a name. */
export function currentSelection(params: Params): Omit<SavedSelection, "name"> {
  return { iterationsBy: params["iterations_by"] ?? null, steps: params["steps"] ?? null };
}

export function isCurrent({ iterationsBy, steps }: SavedSelection, params: Params): boolean {
  const now = currentSelection(params);
  return iterationsBy === now.iterationsBy && steps === now.steps;
}

/** With `added` at the end, or in place of the one with its name. */
export function addSelection(all: readonly SavedSelection[], added: SavedSelection): readonly SavedSelection[] {
  const name = added.name.trim().slice(0, MAX_NAME);
  if (name === "") return all;
  const index = all.findIndex((each) => each.name === name);
  if (index >= 0) return all.with(index, { ...added, name });
  return [...all, { ...added, name }].slice(-MAX_SAVED);
}

/** Renames `from` to `to`, unless that name is taken. */
export function renameSelection(all: readonly SavedSelection[], from: string, to: string): readonly SavedSelection[] {
  const name = to.trim().slice(0, MAX_NAME);
  if (name === "" || all.some((each) => each.name === name)) return all;
  return all.map((each) => (each.name === from ? { ...each, name } : each));
}

/** A text truncated in the middle of an escape is read as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
