/** The viewport follows the address when that changes from outside, and writes itself there when it rests. */
import { useEffect, useRef } from "react";

import { formatValue } from "../lib/format";
import { announceLater } from "./announce";
import { formatRange, parseRange } from "./link";
import type { Stage } from "./stage";
import { listenToStage } from "./useStage";
import { fitRange, spanNs, wholeTrace, type TimeRange } from "./viewport";
import { writeAddress } from "./visit";

const WRITE_AFTER_MS = 300;
/** Smaller zooms are not announced. */
const MIN_ANNOUNCED_ZOOM = 0.01;

/**
 * @param at The range in the address, if there is one.
 * @param first The first range to show when the address has none: a selection, null for everything, undefined while that is unknown.
 */
export function useAddressedViewport(stage: Stage | null, at: string | undefined, first: TimeRange | null | undefined): void {
  /** What the address and the screen have in common. */
  const settled = useRef<string | undefined>(undefined);
  const written = useRef<string | undefined>(undefined);
  const opened = useRef(false);
  useEffect(() => {
    if (stage === null) return;
    const wanted = parseRange(at);
    const isFirst = !opened.current;
    if (wanted !== null || first !== undefined) opened.current = true;
    const isLeft = wanted === null && written.current !== undefined;
    if (wanted !== null && at !== written.current) stage.show(wanted);
    else if (wanted === null && isFirst && first != null) stage.show(fitRange(first.startNs, first.endNs, stage.durationNs));
    // Back to the first address of the visit, which had no visible range.
    else if (isLeft) stage.show(first == null ? wholeTrace(stage.durationNs) : fitRange(first.startNs, first.endNs, stage.durationNs));
    else return;
    written.current = at;
    if (wanted !== null || isLeft) settled.current = formatRange(stage.viewport);
    stage.zooms.rest(stage.viewport);
  }, [stage, at, first]);
  useEffect(() => {
    if (stage === null) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let announcedNs = spanNs(stage.viewport);
    settled.current ??= formatRange(stage.viewport);
    let last = settled.current;
    stage.zooms.rest(stage.viewport);
    const stop = listenToStage(stage, () => {
      const now = formatRange(stage.viewport);
      if (now === last) return;
      last = now;
      clearTimeout(timer);
      timer = setTimeout(() => {
        stage.zooms.rest(stage.viewport);
        const span = spanNs(stage.viewport);
        if (Math.abs(span / announcedNs - 1) > MIN_ANNOUNCED_ZOOM) announceLater(`${formatValue(span / 1000, "us")} on screen.`);
        announcedNs = span;
        if (now === settled.current) return;
        settled.current = now;
        written.current = now;
        writeAddress({ at: now });
      }, WRITE_AFTER_MS);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [stage]);
}
