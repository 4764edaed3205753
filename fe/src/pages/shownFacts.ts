/** Facts for display: a fact with bounds instead of a value shows the range, and its bounds are not shown separately. */
import type { Fact } from "../api/types";
import { boundedKey, boundKeys, boundsText, boundsTitle, type Bounds } from "../lib/bounds";

export interface ShownFact {
  readonly fact: Fact;
  /** The text and title of a fact with bounds only; null for a fact with a value. */
  readonly bounds: { readonly text: string; readonly title: string } | null;
}

export function shownFacts(facts: readonly Fact[]): ShownFact[] {
  const related = (fact: Fact, key: string | null) => facts.find((other) => other.key === key && other.scope === fact.scope);
  const unbounded = facts.filter((fact) => related(fact, boundedKey(fact.key)) === undefined);
  return unbounded.map((fact) => {
    const keys = boundKeys(fact.key);
    const [min, max] = [related(fact, keys.min)?.value, related(fact, keys.max)?.value];
    return shownFact(fact, typeof min === "number" && typeof max === "number" ? { min, max } : null);
  });
}

export function shownFact(fact: Fact, bounds: Bounds | null): ShownFact {
  if (fact.value !== null || bounds === null) return { fact, bounds: null };
  return { fact, bounds: { text: `${boundsText(bounds)} %`, title: boundsTitle(bounds) } };
}
