/** Facts as they are shown: one that is known as bounds only as their range, and its bounds not beside it. */
import type { Fact } from "../api/types";
import { boundedKey, boundKeys, boundsText, boundsTitle, type Bounds } from "../lib/bounds";

export interface ShownFact {
  readonly fact: Fact;
  /** What is shown for a value that is known as bounds only; null for the value itself. */
  readonly between: { readonly text: string; readonly title: string } | null;
}

export function shownFacts(facts: readonly Fact[]): ShownFact[] {
  const beside = (fact: Fact, key: string | null) => facts.find((other) => other.key === key && other.scope === fact.scope);
  const own = facts.filter((fact) => beside(fact, boundedKey(fact.key)) === undefined);
  return own.map((fact) => {
    const keys = boundKeys(fact.key);
    const [least, most] = [beside(fact, keys.least)?.value, beside(fact, keys.most)?.value];
    return shownFact(fact, typeof least === "number" && typeof most === "number" ? { least, most } : null);
  });
}

export function shownFact(fact: Fact, bounds: Bounds | null): ShownFact {
  if (fact.value !== null || bounds === null) return { fact, between: null };
  return { fact, between: { text: `${boundsText(bounds)} %`, title: boundsTitle(bounds) } };
}
