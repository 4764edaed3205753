/** What the address says about the timeline, each part the same object as long as its text is the same. */
import { useMemo, useState } from "react";

import type { TimelineTracksAnswer } from "../generated/schema";
import { useParams } from "../state/urlStore";
import type { ColorMode } from "./colors";
import { layOut, type Folding, type Layout } from "./layout";
import { parseFolding, parseMode, parseRange, parseSlice, selectionRange } from "./link";
import type { TimeRange } from "./scene";

export interface Place {
  readonly at: string | undefined;
  /** Whether the address said what is on screen when the page was opened. */
  readonly placed: boolean;
  readonly folding: Folding;
  readonly layout: Layout;
  readonly mode: ColorMode;
  readonly sliceId: number | null;
  readonly range: TimeRange | null;
  /** The frame's selection, which every view follows. */
  readonly selection: TimeRange | null;
}

export function usePlace(tracks: TimelineTracksAnswer): Place {
  const params = useParams();
  const { at, open, shut, slice, range: rangeText, start_us: startUs, end_us: endUs } = params as Record<string, string | undefined>;
  const [placed] = useState(at !== undefined);
  const folding = useMemo(() => parseFolding({ open: open ?? "", shut: shut ?? "" }), [open, shut]);
  const layout = useMemo(() => layOut(tracks.groups, tracks.tracks, folding), [tracks, folding]);
  const range = useMemo(() => parseRange(rangeText), [rangeText]);
  const selection = useMemo(() => selectionRange(startUs, endUs, tracks.origin_us, tracks.end_ns), [startUs, endUs, tracks]);
  return { at, placed, folding, layout, mode: parseMode(params), sliceId: parseSlice(slice), range, selection };
}
