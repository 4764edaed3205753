/** The state of the timeline from the address, each part the same object as long as its text is the same. */
import { useMemo, useState } from "react";

import { useAnswer } from "../api/hooks";
import type { TimelineStepsAnswer } from "../generated/schema";
import { useParams } from "../state/urlStore";
import type { Arrangement } from "./arrangement";
import type { ColorMode } from "./colors";
import { layOut, type Folding, type Layout } from "./layout";
import { parseArrangement, parseFolding, parseMode, parseRange, parseSlice, selectedRanges, selectionRange } from "./link";
import { keysOnScreen, parseOver } from "./rangeTracks";
import { fromPart, type Stack, type StackPart } from "./stack";
import type { TimeRange } from "./viewport";

export interface TimelineState {
  readonly at: string | undefined;
  /** Whether the address held the visible range when the page was opened. */
  readonly hasInitialViewport: boolean;
  readonly folding: Folding;
  readonly arrangement: Arrangement;
  readonly layout: Layout;
  readonly mode: ColorMode;
  /** The stacked worker whose slice is selected, whose range is summed up, in which names are searched. */
  readonly active: StackPart;
  readonly sliceId: number | null;
  readonly range: TimeRange | null;
  /** Keys on screen of the tracks that the range sums up; null for all. */
  readonly over: ReadonlySet<string> | null;
  /** The frame's selection, which every view follows: stretches in order, null for everything. */
  readonly selection: readonly TimeRange[] | null;
  /** Whether the times of the selected steps are still loading. */
  readonly isSelecting: boolean;
  /** Why the selected steps cannot be shown. */
  readonly problem: string | null;
}

export function useTimelineState(stack: Stack): TimelineState {
  const params = useParams();
  const { at, folds, open, shut, pin, order, tracks, slice, on, steps, range: rangeText, over: overText, start_us: startUs, end_us: endUs } = params as Record<string, string | undefined>;
  const [hasInitialViewport] = useState(at !== undefined);
  const folding = useMemo(() => parseFolding({ folds: folds ?? "", open: open ?? "", shut: shut ?? "" }), [folds, open, shut]);
  const arrangement = useMemo(() => parseArrangement({ pin: pin ?? "", order: order ?? "", tracks: tracks ?? "" }), [pin, order, tracks]);
  const layout = useMemo(() => layOut(stack.groups, stack.tracks, folding, arrangement), [stack, folding, arrangement]);
  const range = useMemo(() => parseRange(rangeText), [rangeText]);
  const time = useMemo(() => selectionRange(startUs, endUs, stack.originUs, stack.endNs), [startUs, endUs, stack]);
  const [first] = stack.parts;
  const answer = useAnswer<TimelineStepsAnswer>(steps === undefined ? null : "timeline/steps", { ...first.query, steps });
  const selectedSteps = steps !== undefined && answer.state === "ready" ? answer.data : null;
  const stepRanges = useMemo(() => selectedSteps?.ranges.map((each) => fromPart(first, { startNs: each.start_ns, endNs: each.end_ns })) ?? null, [selectedSteps, first]);
  const selection = useMemo(() => selectedRanges(stepRanges, time), [stepRanges, time]);
  const problem = steps !== undefined && answer.state === "failed" ? answer.failure.message : null;
  const isSelecting = steps !== undefined && selectedSteps === null && problem === null;
  const active = stack.parts.find(({ worker }) => worker === on) ?? stack.parts[0];
  const over = useMemo(() => keysOnScreen(parseOver(overText, rangeText), active.prefix), [overText, rangeText, active]);
  return { at, hasInitialViewport, folding, arrangement, layout, active, mode: parseMode(params), sliceId: parseSlice(slice), range, over, selection, isSelecting, problem };
}
