/** The viewport follows the address when that changes from outside, and writes itself there when it rests. */
import { useEffect, useRef } from "react";

import { adjust } from "../state/urlStore";
import { formatRange, parseRange } from "./link";
import type { TimeRange } from "./scene";
import type { Stage } from "./stage";
import { listenToStage } from "./useStage";
import { fitRange } from "./viewport";

const WRITE_AFTER_MS = 300;

/**
 * @param at The range in the address, if there is one.
 * @param first What to show first when the address does not say: a selection, null for everything, undefined while that is not known.
 */
export function useAddressedViewport(stage: Stage | null, at: string | undefined, first: TimeRange | null | undefined): void {
  const written = useRef<string | undefined>(undefined);
  const opened = useRef(false);
  useEffect(() => {
    if (stage === null) return;
    const wanted = parseRange(at);
    const isFirst = !opened.current;
    if (wanted !== null || first !== undefined) opened.current = true;
    if (wanted !== null && at !== written.current) stage.show(wanted);
    else if (wanted === null && isFirst && first != null) stage.show(fitRange(first.startNs, first.endNs, stage.durationNs));
  }, [stage, at, first]);
  useEffect(() => {
    if (stage === null) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let last = formatRange(stage.viewport);
    const stop = listenToStage(stage, () => {
      const now = formatRange(stage.viewport);
      if (now === last) return;
      last = now;
      clearTimeout(timer);
      timer = setTimeout(() => {
        written.current = now;
        adjust({ at: now });
      }, WRITE_AFTER_MS);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [stage]);
}
