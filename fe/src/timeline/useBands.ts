/** The ranks that are drawn as bands, on the clock of the worker that the page is about. */
import { useMemo } from "react";

import type { Query } from "../api/client";
import { useAnswer } from "../api/hooks";
import type { TimelineClocksAnswer } from "../generated/schema";
import { chosenRanks, rankTitle } from "./rankChoice";
import type { StackedBand } from "./stack";

export interface Bands {
  readonly bands: readonly StackedBand[];
  readonly problems: readonly string[];
}

const NO_BANDS: Bands = { bands: [], problems: [] };

/**
 * @param trace The trace the page is about.
 * @param text Which ranks (`rankChoice.ts`); empty for none.
 * @returns Null while the clocks are being read.
 */
export function useBands(trace: Query, text: string): Bands | null {
  const clocks = useAnswer<TimelineClocksAnswer>(text === "" ? null : "timeline/clocks", trace, { ...trace, worker: null });
  return useMemo(() => {
    if (text === "") return NO_BANDS;
    if (clocks.state === "failed") return { bands: [], problems: [`The ranks cannot be drawn: ${clocks.failure.message}`] };
    if (clocks.state !== "ready") return null;
    const { chosen, unknown } = chosenRanks(text, clocks.data.workers);
    const bands = chosen.map((each): StackedBand => ({
      worker: each.worker,
      title: rankTitle(each),
      query: { ...trace, worker: each.worker },
      originUs: each.origin_us,
      endNs: each.end_ns,
      offsetNs: each.offset_ns,
      uncertaintyNs: each.uncertainty_ns,
    }));
    return { bands, problems: unknown.map((item) => `No recording of rank ${item.slice(0, 40)} is loaded.`) };
  }, [trace, text, clocks]);
}
