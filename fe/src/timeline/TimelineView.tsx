/** Stage, headers, toolbar and panels; what they share stands in the address. */
import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import { apiUrl } from "../api/client";
import { useTheme } from "../app/theme";
import type { TimelineSlicePayload, TimelineTracksAnswer } from "../generated/schema";
import { saveFile, saveUrl } from "../lib/download";
import { formatNumber } from "../lib/format";
import { traceQuery, type Target } from "../state/target";
import { adjust, navigate, useParams } from "../state/urlStore";
import { listenToGestures, type DragMode, type GestureEvents } from "./gestures";
import { HoverCard } from "./HoverCard";
import type { Command } from "./keys";
import { fold, layOut } from "./layout";
import { asSelection, foldingPatch, formatRange, parseFolding, parseMode, parseRange, parseSlice, selectionRange } from "./link";
import { moveSelection, sliceOf } from "./moving";
import { timelinePicture } from "./picture";
import { RangePanel } from "./RangePanel";
import type { Hover, TimeRange } from "./scene";
import { SearchField } from "./SearchField";
import { SlicePanel } from "./SlicePanel";
import { Stage } from "./stage";
import { shareOfStep } from "./stepShare";
import { KeyHelp, Toolbar } from "./Toolbar";
import { TrackHeads } from "./TrackHeads";
import { useAddressedViewport } from "./useAddressedViewport";
import { useFind } from "./useFind";
import { useFollowedSlice } from "./useFollowedSlice";
import { tellStageListeners, useStage } from "./useStage";
import { useTimelineKeys } from "./useTimelineKeys";
import { fitRange, wholeTrace } from "./viewport";
import "./timeline.css";

interface Props {
  readonly tracks: TimelineTracksAnswer;
  readonly target: Target;
}

const SCROLL_SHARE = 0.8;

export function TimelineView({ tracks, target }: Props) {
  const params = useParams();
  const traceText = JSON.stringify(traceQuery(target));
  const trace = useMemo(() => JSON.parse(traceText) as ReturnType<typeof traceQuery>, [traceText]);
  const { stage, stageRef, headsRef } = useMountedStage(tracks, trace);
  const searchField = useRef<HTMLInputElement>(null);
  const [dragMode, setDragMode] = useState<DragMode>("range");
  const [dragged, setDragged] = useState<TimeRange | null>(null);
  const [helpOpen, setHelpOpen] = useState(false);

  const { open, shut } = params as Record<string, string | undefined>;
  const folding = useMemo(() => parseFolding({ open: open ?? "", shut: shut ?? "" }), [open, shut]);
  const layout = useMemo(() => layOut(tracks.groups, tracks.tracks, folding), [tracks, folding]);
  const mode = parseMode(params);
  const sliceId = parseSlice(params["slice"]);
  const rangeText = params["range"];
  const chosen = useMemo(() => parseRange(rangeText), [rangeText]);
  const range = dragged ?? chosen;
  const { start_us: startUs, end_us: endUs } = params as Record<string, string | undefined>;
  const selection = useMemo(() => selectionRange({ ...(startUs !== undefined && { start_us: startUs }), ...(endUs !== undefined && { end_us: endUs }) }, tracks.origin_us, tracks.end_ns), [startUs, endUs, tracks]);

  const [placed] = useState(params["at"] !== undefined);
  const followed = useFollowedSlice(stage, trace, sliceId, placed);
  const find = useFind(trace, sliceId, followed.go, placed);

  useEffect(() => {
    stage?.update({ folding, mode, search: find.text === "" ? null : find.text.toLowerCase(), hits: find.hits, selected: followed.slice, flows: followed.flows?.flows ?? [], range, selection });
  }, [stage, folding, mode, find.text, find.hits, followed.slice, followed.flows, range, selection]);
  useTheming(stage);
  useAddressedViewport(stage, params["at"], chosen ?? selection);
  useGestures(stage, {
    dragMode: () => dragMode,
    onRange: (next, done) => {
      setDragged(done ? null : next);
      if (done && next.endNs > next.startNs) adjust({ range: formatRange(next), slice: null });
    },
    onPick: (hit) => stage !== null && pick(stage, hit, followed.pick),
  });

  const onFold = useCallback((key: string, isOpen: boolean) => adjust(foldingPatch(fold(folding, key, isOpen))), [folding]);
  const showRange = (next: TimeRange) => stage?.glide(fitRange(next.startNs, next.endNs, stage.durationNs));
  const exportRange = ({ startNs, endNs }: TimeRange) => {
    const inside = { startNs: Math.max(0, Math.floor(startNs)), endNs: Math.min(tracks.end_ns, Math.ceil(endNs)) };
    saveUrl(`${target.run.name}_${target.worker.name}_range.json`, apiUrl("perfetto", { ...trace, ...asSelection(inside, tracks.origin_us) }));
  };
  const onCommand = (command: Command) => {
    if (stage === null) return;
    const { slice } = followed;
    const whole = slice === null ? null : { startNs: slice.start_ns, endNs: slice.start_ns + slice.dur_ns };
    const commands: Record<Command, () => void> = {
      fit: () => stage.glide(toFit(stage, whole ?? range ?? selection)),
      whole: () => stage.glide(wholeTrace(stage.durationNs)),
      mark: () => whole !== null && adjust({ range: formatRange(whole), slice: null }),
      search: () => searchField.current?.select(),
      nextHit: () => find.step(1),
      previousHit: () => find.step(-1),
      nextSame: () => followed.flows?.next != null && followed.go(followed.flows.next.id),
      previousSame: () => followed.flows?.previous != null && followed.go(followed.flows.previous.id),
      left: () => moveSelection(stage, slice, "left", followed.pick),
      right: () => moveSelection(stage, slice, "right", followed.pick),
      up: () => moveSelection(stage, slice, "up", followed.pick),
      down: () => moveSelection(stage, slice, "down", followed.pick),
      scrollUp: () => stage.scrollTo(stage.scrollPx - SCROLL_SHARE * stage.viewHeightPx),
      scrollDown: () => stage.scrollTo(stage.scrollPx + SCROLL_SHARE * stage.viewHeightPx),
      clear: () => (helpOpen ? setHelpOpen(false) : adjust(sliceId !== null ? { slice: null } : { range: null })),
    };
    commands[command]();
  };
  useTimelineKeys(stage, { onCommand, onHelp: () => setHelpOpen(!helpOpen) });

  return (
    <div className="timeline">
      <Toolbar
        stage={stage}
        tracks={tracks}
        mode={mode}
        dragMode={dragMode}
        helpOpen={helpOpen}
        search={<SearchField field={searchField} text={find.text} answer={find.answer} onText={find.setText} onStep={find.step} />}
        onMode={(next) => adjust({ colors: next === "name" ? "name" : null })}
        onDragMode={setDragMode}
        onHelp={setHelpOpen}
        onWhole={() => onCommand("whole")}
        onPicture={() => stage !== null && void savePicture(stage, target)}
        onExport={() => stage !== null && exportRange(stage.viewport)}
      />
      <div className="tl-frame">
        <div className="tl-heads">
          <div className="tl-corner">{formatNumber(tracks.slices)} events</div>
          <div className="tl-heads-view">
            <div ref={headsRef}>
              <TrackHeads layout={layout} onFold={onFold} />
            </div>
          </div>
        </div>
        <div ref={stageRef} className="tl-stage" tabIndex={0} role="application" aria-label="Timeline: w a s d move, arrows walk from slice to slice, question mark lists the keys">
          {stage !== null && <HoverCard stage={stage} tracks={tracks} />}
          {stage !== null && <Busy stage={stage} />}
        </div>
        {stage !== null && <ScrollBar stage={stage} heightPx={layout.heightPx} />}
      </div>
      {helpOpen && <KeyHelp onClose={() => setHelpOpen(false)} />}
      {sliceId !== null && (
        <SlicePanel
          trace={trace}
          id={sliceId}
          flows={followed.flows}
          share={stage === null || followed.slice === null ? null : shareOfStep(stage, followed.slice.start_ns, followed.slice.start_ns + followed.slice.dur_ns)}
          onGo={followed.go}
          onClose={() => adjust({ slice: null })}
        />
      )}
      {sliceId === null && chosen !== null && dragged === null && (
        <RangePanel
          trace={trace}
          tracks={tracks}
          range={chosen}
          onShow={showRange}
          onSelect={() => navigate({ steps: null, range: null, ...asSelection(chosen, tracks.origin_us) })}
          onExport={() => exportRange(chosen)}
          onClose={() => adjust({ range: null })}
        />
      )}
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

function toFit(stage: Stage, range: TimeRange | null) {
  return range === null ? wholeTrace(stage.durationNs) : fitRange(range.startNs, range.endNs, stage.durationNs);
}

/** A slice is selected, a merged block is zoomed in on, and beside them the selection ends. */
function pick(stage: Stage, hit: Hover | null, select: (slice: TimelineSlicePayload) => void): void {
  if (hit?.box == null) {
    adjust({ slice: null });
    return;
  }
  const slice = sliceOf(hit);
  const { boxes } = hit.tile;
  if (slice !== null) select(slice);
  else if ((boxes.slices[hit.box] ?? 1) > 1) stage.glide(fitRange(boxes.startNs[hit.box] ?? 0, boxes.endNs[hit.box] ?? 0, stage.durationNs));
}

/** The same listeners for the life of the stage: a drag goes on while the page is drawn anew. */
function useGestures(stage: Stage | null, events: GestureEvents): void {
  const latest = useRef(events);
  useEffect(() => {
    latest.current = events;
  });
  useEffect(() => {
    if (stage === null) return;
    // The frame around headers and stage: the wheel acts on both.
    const area = stage.surface.closest<HTMLElement>(".tl-frame") ?? stage.surface;
    return listenToGestures(area, stage, {
      dragMode: () => latest.current.dragMode(),
      onRange: (range, done) => latest.current.onRange(range, done),
      onPick: (hit) => latest.current.onPick(hit),
    });
  }, [stage]);
}

async function savePicture(stage: Stage, target: Target): Promise<void> {
  const title = `${target.run.name} ${target.worker.name}`;
  const blob = await timelinePicture(stage, title);
  if (blob !== null) saveFile(`timeline_${title}.png`, "image/png", blob);
}

function useMountedStage(tracks: TimelineTracksAnswer, trace: ReturnType<typeof traceQuery>) {
  const stageRef = useRef<HTMLDivElement>(null);
  const headsRef = useRef<HTMLDivElement>(null);
  const [stage, setStage] = useState<Stage | null>(null);
  useEffect(() => {
    const [host, heads] = [stageRef.current, headsRef.current];
    if (host === null || heads === null) return;
    const canvas = new URLSearchParams(window.location.search).get("canvas");
    const choice = canvas === "webgl" || canvas === "2d" ? canvas : null;
    const made = new Stage(host, heads, tracks, trace, { onChange: tellStageListeners }, choice);
    const size = new ResizeObserver(() => made.resize());
    size.observe(host);
    setStage(made);
    return () => {
      size.disconnect();
      made.dispose();
      setStage(null);
    };
  }, [tracks, trace]);
  return { stage, stageRef, headsRef };
}

function useTheming(stage: Stage | null): void {
  const theme = useTheme();
  useEffect(() => stage?.retheme(), [stage, theme]);
}
