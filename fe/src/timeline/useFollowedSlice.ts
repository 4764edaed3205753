/** The selected slice: named in the address, drawn at once when it was clicked, brought into sight when it was not. */
import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import { useAnswer } from "../api/hooks";
import type { TimelineFlowPayload, TimelineFlowsAnswer, TimelineSlicePayload, TimelineStepKind } from "../generated/schema";
import { visibleText } from "../lib/visibleText";
import { navigate } from "../state/urlStore";
import { announce } from "./announce";
import { sameNameInStack } from "./findInStack";
import { uncover, type Folding, type Layout } from "./layout";
import { foldingPatch } from "./link";
import { arrowsOnScreen, onScreen, partOf, partOfWorker, type Stack, type StackPart } from "./stack";
import type { Stage } from "./stage";
import type { TimelineState } from "./useTimelineState";
import { fitRange, reveal, spanNs } from "./viewport";
import { jumpTo, writeAddress } from "./visit";

export interface FollowedSlice {
  /** Where it is on screen. */
  readonly slice: TimelineSlicePayload | null;
  /** The answer of its worker, in that worker's own time. */
  readonly flows: TimelineFlowsAnswer | null;
  /** Its arrows, also to the same collective on stacked workers, where they are on screen. */
  readonly arrows: readonly TimelineFlowPayload[];
  /** Selects a clicked slice, which is on screen already. */
  readonly pick: (slice: TimelineSlicePayload) => void;
  /** Selects a slice that may be anywhere, of the same worker or of another one of the stack. */
  readonly go: (id: number, worker?: string) => void;
  /** Goes to the next or previous slice of the same name, on whichever stacked worker it is. */
  readonly same: (direction: 1 | -1) => void;
  /** Goes one step along the flow, or back. */
  readonly follow: (direction: "onward" | "back") => void;
}

/** A slice that would be thinner than this is zoomed in on. */
const MIN_SHARE = 1 / 400;
const NO_ARROWS: readonly TimelineFlowPayload[] = [];

/**
 * @param part The worker whose slice it is.
 * @param folding What is folded: going to a slice opens its groups.
 * @param layout The tracks that are shown.
 * @param hasInitialViewport Whether the address holds the visible range: then a slice in the address moves nothing at first.
 */
export function useFollowedSlice(stage: Stage | null, stack: Stack, part: StackPart, { folding, layout }: Pick<TimelineState, "folding" | "layout">, id: number | null, hasInitialViewport: boolean): FollowedSlice {
  const [picked, setPicked] = useState<TimelineSlicePayload | null>(null);
  // Its peers are slices of the other workers.
  const answer = useAnswer<TimelineFlowsAnswer>(id === null ? null : "timeline/flows", { ...part.query, slice: id, peers: 1 }, { ...part.query, worker: null });
  const flows = answer.state === "ready" && answer.data.slice.id === id ? answer.data : null;
  const flowSlice = useMemo(() => (flows === null ? null : onScreen(part, flows.slice)), [part, flows]);
  const slice = flowSlice ?? (picked?.id === id && partOf(stack, picked.track) === part ? picked : null);
  const arrows = useMemo(() => (flows === null ? NO_ARROWS : arrowsOnScreen(stack, part, flows.flows)), [stack, part, flows]);

  const latest = useRef({ folding, layout });
  useEffect(() => {
    latest.current = { folding, layout };
  });
  const inSight = useRef(hasInitialViewport && id !== null ? sliceKey(part, id) : null);
  useEffect(() => {
    if (stage === null || slice === null) return;
    const key = sliceKey(part, slice.id);
    if (key !== inSight.current) {
      uncoverTrack(stage, slice.track, latest.current.folding, latest.current.layout);
      bringIntoSight(stage, slice);
    } else stage.scrollIntoSight(slice.track, slice.lane);
    inSight.current = key;
  }, [stage, part, slice]);

  const selecting = useCallback((next: number, worker: string) => ({ slice: String(next), on: worker === stack.parts[0].worker ? null : worker }), [stack]);
  const pick = useCallback(
    (next: TimelineSlicePayload) => {
      const slicePart = partOf(stack, next.track);
      inSight.current = sliceKey(slicePart, next.id);
      setPicked(next);
      writeAddress({ ...selecting(next.id, slicePart.worker), note: null });
    },
    [stack, selecting],
  );
  const go = useCallback(
    (next: number, worker = part.worker) => {
      inSight.current = null;
      jumpTo(selecting(next, worker));
    },
    [part, selecting],
  );
  const same = useCallback(
    (direction: 1 | -1) => {
      if (slice === null || flows === null) return;
      const none = () => announce(direction === 1 ? "No later slice of this name." : "No earlier slice of this name.");
      if (stack.parts.length === 1) {
        const next = direction === 1 ? flows.next : flows.previous;
        if (next === null) none();
        else go(next.id);
        return;
      }
      void sameNameInStack(stack, { part, id: slice.id, startNs: slice.start_ns }, flows.slice.name, direction).then((hit) => (hit === null ? none() : go(hit.slice.id, hit.part.worker)));
    },
    [stack, part, slice, flows, go],
  );
  const follow = useCallback(
    (direction: "onward" | "back") => {
      const step = flows?.[direction];
      if (step == null) {
        if (flows !== null) announce(direction === "onward" ? "The flow ends here." : "Nothing leads here.");
        return;
      }
      announce(`${STEP_TITLES[step.kind]}: ${visibleText(step.slice.name)}`);
      const target = step.worker === null ? part : partOfWorker(stack, part, step.worker);
      if (target !== undefined) go(step.slice.id, target.worker);
      else if (step.worker !== null) openOnWorker(part, step.worker, step.slice.id);
    },
    [stack, part, flows, go],
  );
  return { slice, flows, arrows, pick, go, same, follow };
}

/** What a step along the flow leads to. */
export const STEP_TITLES: Readonly<Record<TimelineStepKind, string>> = {
  work: "Launched work",
  next_in_stream: "Next in stream",
  backward: "Backward",
  launch: "Launch",
  operator: "Operator",
  forward: "Forward",
  next_rank: "Next rank",
};

/** Opens another worker of the run on one of its slices. */
export function openOnWorker({ query }: StackPart, worker: string, slice: number): void {
  navigate({ run: String(query["run"]), worker, slice: String(slice), on: null, at: null, range: null, over: null });
}

/** Every worker has its own slice ids. */
function sliceKey({ prefix }: StackPart, id: number): string {
  return prefix + String(id);
}

/** Opens the groups of a track, and clears a filter that hides it. */
function uncoverTrack({ stack }: Stage, key: string, folding: Folding, layout: Layout): void {
  const track = stack.tracks.find((each) => each.key === key);
  if (track === undefined || layout.rowOf.has(key)) return;
  const shown = uncover(stack.groups, track, folding);
  writeAddress({ tracks: null, ...(shown === folding ? {} : foldingPatch(shown)) });
}

function bringIntoSight(stage: Stage, slice: TimelineSlicePayload): void {
  const endNs = slice.start_ns + slice.dur_ns;
  const thin = slice.dur_ns < spanNs(stage.viewport) * MIN_SHARE;
  const close = fitRange(slice.start_ns - slice.dur_ns * 8, endNs + slice.dur_ns * 8, stage.durationNs);
  stage.glide(thin ? close : reveal(stage.viewport, slice.start_ns, endNs, stage.durationNs));
  stage.scrollIntoSight(slice.track, slice.lane);
}
