/** Headers, drawing surface and scroll bar side by side. */
import { useEffect, useId, useRef, type CSSProperties, type RefObject } from "react";

import { Announcements } from "./announce";
import type { Arrangement } from "./arrangement";
import { HoverCard } from "./HoverCard";
import type { Layout } from "./layout";
import { NAMES_WIDTH, useSize } from "./sizes";
import { Splitter } from "./Splitter";
import type { Stage } from "./stage";
import { TrackFilter } from "./TrackFilter";
import { TrackHeaders } from "./TrackHeaders";
import type { Arranging } from "./useArranging";
import { useStage } from "./useStage";
import "./heads.css";

interface Props {
  readonly stage: Stage | null;
  readonly stageRef: RefObject<HTMLDivElement | null>;
  readonly headersRef: RefObject<HTMLDivElement | null>;
  readonly layout: Layout;
  readonly arrangement: Arrangement;
  readonly arranging: Arranging;
}

const NAMES_PX = 220;

export function StageFrame({ stage, stageRef, headersRef, layout, arrangement, arranging }: Props) {
  const [namesPx, setNamesPx] = useSize(NAMES_WIDTH);
  const descriptionId = useId();
  const widthPx = namesPx ?? NAMES_PX;
  return (
    <div className="tl-frame" style={{ "--tl-names": `${widthPx}px` } as CSSProperties}>
      <div className="tl-heads">
        <TrackFilter filter={arrangement.filter} onFilter={arranging.onFilter} onFoldAll={arranging.onFoldAll} />
        <TrackHeaders stage={stage} layout={layout} arranging={arranging} headersRef={headersRef} />
        {layout.rows.length === 0 && <p className="tl-none soft">No track matches the filter.</p>}
      </div>
      <Splitter label="Width of the names" orientation="vertical" px={widthPx} size={NAMES_WIDTH} onResize={setNamesPx} />
      <div ref={stageRef} className="tl-stage" tabIndex={0} role="application" aria-roledescription="timeline" aria-label="Timeline" aria-describedby={descriptionId} aria-keyshortcuts="ArrowRight w s a d f z / ?">
        {stage !== null && <HoverCard stage={stage} />}
        {stage !== null && <Busy stage={stage} />}
      </div>
      {stage !== null && <ScrollBar stage={stage} heightPx={layout.heightPx} />}
      <p id={descriptionId} hidden>
        Slices of time on {layout.tracks.length} tracks. Arrow keys select the first slice on screen and move from it to others; w and s zoom, a and d move, Enter goes to the panel, question mark lists all keys.
      </p>
      <Announcements />
    </div>
  );
}

/** Why the picture is coarser than it should be. */
function Busy({ stage }: { readonly stage: Stage }) {
  const text = useStage(stage, ({ loader }) => (loader.failure !== null ? `${loader.failure.message} Retrying …` : ""));
  return text === "" ? null : (
    <div className="tl-busy" role="status">
      {text}
    </div>
  );
}

/** A scroll bar next to the stage: the stage itself does not scroll, so that canvas and headers stay aligned. */
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
