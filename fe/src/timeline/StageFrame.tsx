/** Headers, drawing surface and scroll bar side by side. */
import { useEffect, useRef, type RefObject } from "react";

import { formatNumber } from "../lib/format";
import { HoverCard } from "./HoverCard";
import type { Layout } from "./layout";
import type { Stack } from "./stack";
import type { Stage } from "./stage";
import { TrackHeads } from "./TrackHeads";
import { useStage } from "./useStage";

interface Props {
  readonly stage: Stage | null;
  readonly stageRef: RefObject<HTMLDivElement | null>;
  readonly headsRef: RefObject<HTMLDivElement | null>;
  readonly stack: Stack;
  readonly layout: Layout;
  readonly onFold: (key: string, open: boolean) => void;
}

const LABEL = "Timeline: w a s d move, arrows walk from slice to slice, question mark lists the keys";

export function StageFrame({ stage, stageRef, headsRef, stack, layout, onFold }: Props) {
  const events = stack.parts.reduce((sum, { tracks }) => sum + tracks.slices, 0);
  return (
    <div className="tl-frame">
      <div className="tl-heads">
        <div className="tl-corner">
          {formatNumber(events)} {events === 1 ? "event" : "events"}
        </div>
        <div className="tl-heads-view">
          <div ref={headsRef}>
            <TrackHeads layout={layout} onFold={onFold} />
          </div>
        </div>
      </div>
      <div ref={stageRef} className="tl-stage" tabIndex={0} role="application" aria-label={LABEL}>
        {stage !== null && <HoverCard stage={stage} />}
        {stage !== null && <Busy stage={stage} />}
      </div>
      {stage !== null && <ScrollBar stage={stage} heightPx={layout.heightPx} />}
    </div>
  );
}

/** What keeps the picture from being as fine as it should be. */
function Busy({ stage }: { readonly stage: Stage }) {
  const text = useStage(stage, ({ loader }) => (loader.failure !== null ? `${loader.failure.message} Asking again …` : ""));
  return text === "" ? null : (
    <div className="tl-busy" role="status">
      {text}
    </div>
  );
}

/** A scroll bar beside the stage: the stage itself does not scroll, so that canvas and headers stay together. */
function ScrollBar({ stage, heightPx }: { readonly stage: Stage; readonly heightPx: number }) {
  const bar = useRef<HTMLDivElement>(null);
  const scrollPx = useStage(stage, (now) => now.scrollPx);
  useEffect(() => {
    if (bar.current !== null && Math.abs(bar.current.scrollTop - scrollPx) >= 1) bar.current.scrollTop = scrollPx;
  }, [scrollPx]);
  return (
    <div ref={bar} className="tl-scroll" tabIndex={-1} onScroll={({ currentTarget }) => stage.scrollTo(currentTarget.scrollTop)}>
      <div style={{ height: heightPx }} />
    </div>
  );
}
