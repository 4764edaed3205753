/** The selected slice: named in the address, drawn at once when it was clicked, brought into sight when it was not. */
import { useCallback, useEffect, useRef, useState } from "react";

import { apiUrl, type Query } from "../api/client";
import { useResource } from "../api/hooks";
import type { TimelineFlowsAnswer, TimelineSlicePayload } from "../generated/schema";
import { adjust } from "../state/urlStore";
import type { Stage } from "./stage";
import { fitRange, reveal, spanNs } from "./viewport";

export interface FollowedSlice {
  readonly slice: TimelineSlicePayload | null;
  readonly flows: TimelineFlowsAnswer | null;
  /** Selects what was clicked: it is in sight. */
  readonly pick: (slice: TimelineSlicePayload) => void;
  /** Selects a slice that may be anywhere. */
  readonly go: (id: number) => void;
}

/** A slice that would be thinner than this is zoomed in on. */
const MIN_SHARE = 1 / 400;

/** @param placed Whether the address says what is on screen: then a slice it names moves nothing at first. */
export function useFollowedSlice(stage: Stage | null, trace: Query, id: number | null, placed: boolean): FollowedSlice {
  const [picked, setPicked] = useState<TimelineSlicePayload | null>(null);
  const answer = useResource<TimelineFlowsAnswer>(id === null ? null : apiUrl("timeline/flows", { ...trace, slice: id, peers: 1 }));
  const flows = answer.state === "ready" && answer.data.slice.id === id ? answer.data : null;
  const slice = flows?.slice ?? (picked?.id === id ? picked : null);

  const inSight = useRef(placed ? id : null);
  useEffect(() => {
    if (stage === null || slice === null) return;
    if (slice.id !== inSight.current) bringIntoSight(stage, slice);
    else stage.scrollIntoSight(slice.track, slice.lane);
    inSight.current = slice.id;
  }, [stage, slice]);

  const pick = useCallback((next: TimelineSlicePayload) => {
    inSight.current = next.id;
    setPicked(next);
    adjust({ slice: String(next.id) });
  }, []);
  const go = useCallback((next: number) => {
    inSight.current = null;
    adjust({ slice: String(next) });
  }, []);
  return { slice, flows, pick, go };
}

function bringIntoSight(stage: Stage, slice: TimelineSlicePayload): void {
  const endNs = slice.start_ns + slice.dur_ns;
  const thin = slice.dur_ns < spanNs(stage.viewport) * MIN_SHARE;
  const close = fitRange(slice.start_ns - slice.dur_ns * 8, endNs + slice.dur_ns * 8, stage.durationNs);
  stage.glide(thin ? close : reveal(stage.viewport, slice.start_ns, endNs, stage.durationNs));
  stage.scrollIntoSight(slice.track, slice.lane);
}
