/** Which of their names kernels are shown by, everywhere: `names=` in the address, left out for short ones. */
import { nameModeOf, type NameMode } from "../lib/names";
import { adjust, useParams } from "./urlStore";

export function useNameMode(): NameMode {
  return nameModeOf(useParams()["names"]);
}

export function setNameMode(mode: NameMode): void {
  adjust({ names: mode === "short" ? null : mode });
}
