/** The figures of the iterations as badges: mean and deviation as one. */
import type { Fact } from "../../api/types";
import { digitsFor, exactValue, formatNumber } from "../../lib/format";
import { scaleFor } from "../../lib/units";
import { shownFacts, type ShownFact } from "../shownFacts";

const MEAN = "iteration_mean_us";
const DEVIATION = "iteration_stddev_us";

/** In this order; others are said by notes. */
const SHOWN = ["iterations_total", "iterations_selected", "iterations_first", "iterations_last", MEAN, DEVIATION];

export function badges(facts: readonly Fact[]): ShownFact[] {
  const found = facts.find(({ key }) => key === DEVIATION)?.value;
  // One iteration does not deviate from itself, and of several selected ones only one may be in the mean.
  const isOne = found === 0;
  const deviation = isOne ? null : found;
  const isSaid = typeof deviation === "number" && hasMean(facts);
  const shown = SHOWN.flatMap((key) => facts.filter((fact) => fact.key === key && !((isSaid || isOne) && key === DEVIATION)));
  return shownFacts(shown).map((each) => {
    const { key, value } = each.fact;
    if (key !== MEAN || typeof value !== "number" || typeof deviation !== "number") return each;
    return { ...each, between: { text: meanText(value, deviation), title: `${exactValue(value, "us")} ± ${exactValue(deviation, "us")} (standard deviation)` } };
  });
}

function hasMean(facts: readonly Fact[]): boolean {
  return facts.some(({ key, value }) => key === MEAN && typeof value === "number");
}

/** Both in one unit: "12.34 ± 0.56 ms". */
function meanText(mean: number, deviation: number): string {
  const scale = scaleFor("us", Math.abs(mean));
  const digits = digitsFor(mean / scale.divisor, false);
  return `${formatNumber(mean / scale.divisor, digits)} ± ${formatNumber(deviation / scale.divisor, digits)} ${scale.label}`;
}
