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
  const partRange = screen === null ? null : inPart(part, screen);
  const answer = useAnswer<TimelinePathAnswer>(partRange === null ? null : "timeline/critical_path", {
    ...part.query,
    steps: steps ?? null,
    start_ns: partRange?.startNs ?? null,
    end_ns: partRange?.endNs ?? null,
  });
  const result = !isOn ? null : answer.state === "ready" ? answer.data : answer.state === "loading" ? answer.last : null;
  const pieces = useMemo(() => (result == null ? NO_PIECES : result.pieces.map((each) => onScreen(part, each))), [result, part]);
  useShownOnce(stage, part, isOn, answer.state === "ready" ? answer.data : null);
  return { isOn, pieces, problem: isOn && answer.state === "failed" ? answer.failure.message : null };
}

/** Moves the path's step on screen when the path is switched on and lies elsewhere. */
function useShownOnce(stage: Stage | null, part: StackPart, isOn: boolean, result: TimelinePathAnswer | null): void {
  const isShown = useRef(false);
  useEffect(() => {
    if (!isOn) isShown.current = false;
    if (!isOn || isShown.current || stage === null || result === null) return;
    isShown.current = true;
    const range = fromPart(part, { startNs: result.start_ns, endNs: result.end_ns });
    const isElsewhere = range.endNs <= stage.viewport.startNs || range.startNs >= stage.viewport.endNs;
    if (isElsewhere && range.endNs > range.startNs) showRange(stage, range);
  }, [stage, part, isOn, result]);
}
