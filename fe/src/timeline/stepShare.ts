/** How much of its step a slice takes. */
import { formatValue } from "../lib/format";
import { boxAt } from "./hit";
import { partOf } from "./stack";
import type { Stage } from "./stage";
import { nameOf } from "./tile";

/** "12.3 % of ProfilerStep#5" for a range of a track that begins in a step of its worker; null outside steps. */
export function shareOfStep(stage: Stage, trackKey: string, startNs: number, endNs: number): string | null {
  const part = partOf(stage.stack, trackKey);
  const steps = stage.layout.tracks.find(({ track }) => track.kind === "steps" && partOf(stage.stack, track.key) === part);
  if (steps === undefined) return null;
  const { fine, whole } = stage.loader.tilesOf(steps.number);
  for (const tile of [fine, whole]) {
    const box = tile === null ? null : boxAt(tile.boxes, 0, startNs, 0);
    if (tile === null || box === null || tile.boxes.slices[box] !== 1) continue;
    const stepNs = (tile.boxes.endNs[box] ?? 0) - (tile.boxes.startNs[box] ?? 0);
    return stepNs > 0 ? `${shareText((100 * (endNs - startNs)) / stepNs)} of ${nameOf(tile, box) ?? "the step"}` : null;
  }
  return null;
}

/** What takes time is not "0.0 %". */
function shareText(pct: number): string {
  return pct > 0 && pct < 0.05 ? "< 0.1 %" : formatValue(pct, "pct");
}
