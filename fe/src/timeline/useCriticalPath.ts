/** The critical path of the selected steps, as far as it is on screen. */
import { useEffect, useMemo, useRef } from "react";

import { useAnswer } from "../api/hooks";
import type { TimelinePathAnswer, TimelineSlicePayload } from "../generated/schema";
import { useParams } from "../state/urlStore";
import { showRange } from "./commands";
import { fromPart, inPart, onScreen, type StackPart } from "./stack";
import type { Stage } from "./stage";
import { useRestingViewport } from "./useRestingViewport";

export interface CriticalPath {
  readonly isOn: boolean;
  /** Slices, each with the part of its time that is on the path. */
  readonly pieces: readonly TimelineSlicePayload[];
  /** Why it cannot be shown. */
  readonly problem: string | null;
}

const NO_PIECES: readonly TimelineSlicePayload[] = [];

export function useCriticalPath(stage: Stage | null, part: StackPart): CriticalPath {
  const { path, steps } = useParams() as Record<string, string | undefined>;
  const isOn = path === "on";
  const screen = useRestingViewport(stage, isOn);
  const asked = screen === null ? null : inPart(part, screen);
  const answer = useAnswer<TimelinePathAnswer>(asked === null ? null : "timeline/critical_path", {
    ...part.query,
    steps: steps ?? null,
    start_ns: asked?.startNs ?? null,
    end_ns: asked?.endNs ?? null,
  });
  const found = !isOn ? null : answer.state === "ready" ? answer.data : answer.state === "loading" ? answer.last : null;
  const pieces = useMemo(() => (found == null ? NO_PIECES : found.pieces.map((each) => onScreen(part, each))), [found, part]);
  useShownOnce(stage, part, isOn, answer.state === "ready" ? answer.data : null);
  return { isOn, pieces, problem: isOn && answer.state === "failed" ? answer.failure.message : null };
}

/** Its step comes on screen when the path is asked for and lies elsewhere. */
function useShownOnce(stage: Stage | null, part: StackPart, isOn: boolean, found: TimelinePathAnswer | null): void {
  const isShown = useRef(false);
  useEffect(() => {
    if (!isOn) isShown.current = false;
    if (!isOn || isShown.current || stage === null || found === null) return;
    isShown.current = true;
    const range = fromPart(part, { startNs: found.start_ns, endNs: found.end_ns });
    const isElsewhere = range.endNs <= stage.viewport.startNs || range.startNs >= stage.viewport.endNs;
    if (isElsewhere && range.endNs > range.startNs) showRange(stage, range);
  }, [stage, part, isOn, found]);
}
