/** The facts of the iterations as badges, with mean and deviation in one. */
import type { Fact } from "../../api/types";
import { exactValue, formatNumber, significantDigits } from "../../lib/format";
import { scaleFor } from "../../lib/units";
import { shownFacts, type ShownFact } from "../shownFacts";

const MEAN = "iteration_mean_us";
const DEVIATION = "iteration_stddev_us";

/** In this order; notes have the others. */
const SHOWN = ["iterations_total", "iterations_selected", "iterations_first", "iterations_last", MEAN, DEVIATION];

export function badges(facts: readonly Fact[]): ShownFact[] {
  const deviationFact = facts.find(({ key }) => key === DEVIATION)?.value;
  // A single iteration has no deviation; of several selected ones the mean may include only one.
  const isOne = deviationFact === 0;
  const deviation = isOne ? null : deviationFact;
  const isCombined = typeof deviation === "number" && hasMean(facts);
  const shown = SHOWN.flatMap((key) => facts.filter((fact) => fact.key === key && !((isCombined || isOne) && key === DEVIATION)));
  return shownFacts(shown).map((each) => {
    const { key, value } = each.fact;
    if (key !== MEAN || typeof value !== "number" || typeof deviation !== "number") return each;
    return { ...each, bounds: { text: meanText(value, deviation), title: `${exactValue(value, "us")} ± ${exactValue(deviation, "us")} (standard deviation)` } };
  });
}

function hasMean(facts: readonly Fact[]): boolean {
  return facts.some(({ key, value }) => key === MEAN && typeof value === "number");
}

/** Both in one unit: "12.3 ± 0.6 ms". */
function meanText(mean: number, deviation: number): string {
  const scale = scaleFor("us", Math.abs(mean));
  const digits = significantDigits(mean / scale.divisor);
  return `${formatNumber(mean / scale.divisor, digits)} ± ${formatNumber(deviation / scale.divisor, digits)} ${scale.label}`;
}
