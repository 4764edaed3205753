/** What the commands of `keys.ts` do. */
import type { TimelineSlicePayload } from "../generated/schema";
import { formatValue } from "../lib/format";
import { announce } from "./announce";
import { rangeBetween } from "./gestures";
import type { Command } from "./keys";
import { formatRange } from "./link";
import { moveSelection, sliceOf } from "./moving";
import type { Hover } from "./scene";
import type { Stage } from "./stage";
import type { Find } from "./useFind";
import type { FollowedSlice } from "./useFollowedSlice";
import { fitRange, wholeTrace, type Viewport, type TimeRange } from "./viewport";
import { markJump, writeAddress } from "./visit";

export interface CommandContext {
  readonly stage: Stage;
  readonly followed: FollowedSlice;
  readonly find: Find;
  /** What `f` fits when no slice is selected. */
  readonly range: TimeRange | null;
  readonly focusSearch: () => void;
  readonly focusPanel: () => void;
  readonly onPin: (track: string) => void;
  readonly onPath: () => void;
  readonly onNote: () => void;
  /** Clears what was selected last. */
  readonly clear: () => void;
}

const SCROLL_SHARE = 0.8;

export function runCommand(command: Command, { stage, followed, find, range, focusSearch, focusPanel, onPin, onPath, onNote, clear }: CommandContext): void {
  const { slice, pick, same, follow } = followed;
  const whole = slice === null ? null : { startNs: slice.start_ns, endNs: slice.start_ns + slice.dur_ns };
  const commands: Readonly<Record<Command, () => void>> = {
    fit: () => showRange(stage, whole ?? range),
    whole: () => showRange(stage, null),
    mark: () => {
      if (whole !== null) markRange(stage, whole);
    },
    markScreen: () => markRange(stage, stage.viewport),
    undo: () => goBack(stage, stage.zooms.undo(stage.destination), "No zoom to undo."),
    redo: () => goBack(stage, stage.zooms.redo(stage.destination), "No zoom to redo."),
    pin: () => {
      if (slice !== null) onPin(slice.track);
    },
    panel: focusPanel,
    path: onPath,
    note: onNote,
    search: focusSearch,
    nextHit: () => find.step(1),
    previousHit: () => find.step(-1),
    nextSame: () => same(1),
    previousSame: () => same(-1),
    onward: () => follow("onward"),
    back: () => follow("back"),
    left: () => moveSelection(stage, slice, "left", pick),
    right: () => moveSelection(stage, slice, "right", pick),
    up: () => moveSelection(stage, slice, "up", pick),
    down: () => moveSelection(stage, slice, "down", pick),
    scrollUp: () => stage.scrollTo(stage.scrollPx - SCROLL_SHARE * stage.viewHeightPx),
    scrollDown: () => stage.scrollTo(stage.scrollPx + SCROLL_SHARE * stage.viewHeightPx),
    clear,
  };
  commands[command]();
}

function markRange(stage: Stage, { startNs, endNs }: TimeRange): void {
  const marked = rangeBetween(startNs, endNs, stage.durationNs);
  writeAddress({ range: formatRange(marked), slice: null });
  announce(`${formatValue((marked.endNs - marked.startNs) / 1000, "us")} marked.`);
}

function goBack(stage: Stage, to: Viewport | null, otherwise: string): void {
  if (to === null) announce(otherwise);
  else stage.glide(to);
}

/** Fills the screen with a range; null is the whole trace. */
export function showRange(stage: Stage, range: TimeRange | null): void {
  markJump();
  stage.glide(range === null ? wholeTrace(stage.durationNs) : fitRange(range.startNs, range.endNs, stage.durationNs));
}

/** A click on a slice selects it, on a merged block zooms in, and elsewhere clears the selection. */
export function pickBox(stage: Stage, hit: Hover | null, select: (slice: TimelineSlicePayload) => void): void {
  if (hit?.box == null) {
    writeAddress({ slice: null });
    return;
  }
  const slice = sliceOf(hit);
  const { boxes } = hit.tile;
  if (slice !== null) select(slice);
  else if ((boxes.slices[hit.box] ?? 1) > 1) showRange(stage, { startNs: boxes.startNs[hit.box] ?? 0, endNs: boxes.endNs[hit.box] ?? 0 });
}

/** A double click: a slice fills the screen; outside slices the last zoom is undone. A merged block was zoomed to by the first click. */
export function zoomToBox(stage: Stage, hit: Hover | null): void {
  const slice = hit === null ? null : sliceOf(hit);
  if (slice !== null) showRange(stage, { startNs: slice.start_ns, endNs: slice.start_ns + slice.dur_ns });
  else if (hit?.box == null) goBack(stage, stage.zooms.undo(stage.destination), "No zoom to undo.");
}
