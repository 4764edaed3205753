/** Why a chart draws nothing, in a sentence; null where it draws something. */
import { isCurve, type ChartData } from "./types";

export function nothingText(chart: ChartData, reason?: string  ): string | null {
  const values = isCurve(chart) ? chart.lines.flatMap((line) => line.y) : chart.lines.flatMap((line) => line.values);
  const known = values.filter((value) => value !== null);
  if (known.some((value) => value !== 0)) return null;
  // A curve that stays at zero is drawn; a bar of no height is not.
  if (known.length > 0) return isCurve(chart) ? null : "Nothing to draw: every value is 0.";
  return `Nothing to draw. ${reason ?? (values.length > 0 ? "The recording has no such value." : "The recording has nothing of the kind.")}`;
}
