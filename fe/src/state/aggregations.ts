/**
 * Parts of a trace that were given a name, to switch between: what cuts it and which of its iterations are
 * selected. They stand in the address, `aggregations=warm;name:train_step;5:8,all;;`: name, cut and steps of
 * each behind semicolons, each text escaped.
 */
import type { Params } from "./address";

export const AGGREGATIONS_KEY = "aggregations";
/** An address has to be sent by mail, and a list to be read. */
export const MAX_AGGREGATIONS = 20;
const MAX_NAME = 60;

export interface Aggregation {
  readonly name: string;
  /** As `iterations_by=`; null for the steps of the trace. */
  readonly cut: string | null;
  /** As `steps=`; null for all. */
  readonly steps: string | null;
}

export function parseAggregations(text: string | undefined): readonly Aggregation[] {
  const all = (text ?? "").split(",").flatMap((part): Aggregation[] => {
    const [name = "", cut = "", steps = ""] = part.split(";").map(decoded);
    return name.trim() === "" ? [] : [{ name: name.slice(0, MAX_NAME), cut: cut || null, steps: steps || null }];
  });
  return all.filter(({ name }, place) => all.findIndex((other) => other.name === name) === place).slice(0, MAX_AGGREGATIONS);
}

/** Empty for none. */
export function formatAggregations(aggregations: readonly Aggregation[]): string {
  return aggregations.map(({ name, cut, steps }) => [name, cut ?? "", steps ?? ""].map(encodeURIComponent).join(";")).join(",");
}

/** What the page looks at now, without a name. */
export function currentPart(params: Params): Omit<Aggregation, "name"> {
  return { cut: params["iterations_by"] ?? null, steps: params["steps"] ?? null };
}

export function isCurrent({ cut, steps }: Aggregation, params: Params): boolean {
  const now = currentPart(params);
  return cut === now.cut && steps === now.steps;
}

/** With `added` at the end; one of that name gives way to it. */
export function withAggregation(all: readonly Aggregation[], added: Aggregation): readonly Aggregation[] {
  const name = added.name.trim().slice(0, MAX_NAME);
  if (name === "") return all;
  const place = all.findIndex((each) => each.name === name);
  if (place >= 0) return all.with(place, { ...added, name });
  return [...all, { ...added, name }].slice(-MAX_AGGREGATIONS);
}

/** `from` called `to`; unless another one is called so already. */
export function renamed(all: readonly Aggregation[], from: string, to: string): readonly Aggregation[] {
  const name = to.trim().slice(0, MAX_NAME);
  if (name === "" || all.some((each) => each.name === name)) return all;
  return all.map((each) => (each.name === from ? { ...each, name } : each));
}

/** A text cut in the middle of an escape is read as it stands. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
