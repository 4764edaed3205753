/** Which name of a kernel every page shows: `names=` in the address, absent for short names. */
import { nameModeOf, type NameMode } from "../lib/names";
import { adjust, useParams } from "./urlStore";

export function useNameMode(): NameMode {
  return nameModeOf(useParams()["names"]);
}

export function setNameMode(mode: NameMode): void {
  adjust({ names: mode === "short" ? null : mode });
}
