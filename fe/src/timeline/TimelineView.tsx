/** Stage, toolbar and panels of one trace; their common state is in the address. */
import { useEffect, useMemo, useRef, useState } from "react";

import { saveFile } from "../lib/download";
import { useNameMode } from "../state/nameMode";
import type { Target } from "../state/target";
import { useParams } from "../state/urlStore";
import { pickBox, runCommand, zoomToBox } from "./commands";
import { gapScopeOf } from "./gapRows";
import type { DragMode } from "./gestures";
import type { Command } from "./keys";
import { LevelsControl } from "./LevelsControl";
import { formatRange, hullOf } from "./link";
import { formatPosition, parseNotes } from "./notes";
import { noteOnScreen, positionOfNote } from "./notePositions";
import { PanelSlot } from "./PanelSlot";
import { timelinePicture } from "./picture";
import { formatOver, keysOnScreen, tracksOver } from "./rangeTracks";
import { SearchField } from "./SearchField";
import { partOf, workerOfBand, type Stack } from "./stack";
import { StackControl } from "./StackControl";
import type { Stage } from "./stage";
import { StageFrame } from "./StageFrame";
import { savePerfettoExport, TimelinePanel } from "./TimelinePanel";
import { KeyHelp, Toolbar } from "./Toolbar";
import { useAddressedViewport } from "./useAddressedViewport";
import { useAnnouncedSlice } from "./useAnnouncedSlice";
import { useArranging } from "./useArranging";
import { useCriticalPath } from "./useCriticalPath";
import { useFind } from "./useFind";
import { useFollowedSlice } from "./useFollowedSlice";
import { useIterations } from "./useIterations";
import { useGestures, useMountedStage, useTheming } from "./useMountedStage";
import { useTimelineKeys } from "./useTimelineKeys";
import { useTimelineState, type TimelineState } from "./useTimelineState";
import { useVisit, writeAddress } from "./visit";
import "./timeline.css";

interface Props {
  readonly stack: Stack;
  readonly target: Target;
  /** Workers of the run that could be stacked. */
  readonly otherWorkers: readonly string[];
  /** Why requested workers are not stacked. */
  readonly problems: readonly string[];
}

export function TimelineView({ stack, target, otherWorkers, problems }: Props) {
  const state = useTimelineState(stack);
  const { folding, arrangement, layout, mode, active, sliceId, selection, hasInitialViewport } = state;
  useVisit();
  const { stage, stageRef, headersRef } = useMountedStage(stack);
  const followed = useFollowedSlice(stage, stack, active, state, sliceId, hasInitialViewport);
  const find = useFind(stack, active, sliceId, followed, hasInitialViewport);
  const names = useNameMode();
  const iterations = useIterations(stack.parts[0]);
  const path = useCriticalPath(stage, stack.parts[0]);
  const { notes: notesText, note: notePosition } = useParams() as Record<string, string | undefined>;
  const notes = useMemo(() => parseNotes(notesText).map((each) => noteOnScreen(stack.parts[0], each)), [notesText, stack]);
  const onPath = () => writeAddress({ path: path.isOn ? null : "on" });
  useAnnouncedSlice(stack, names, followed.slice);
  const arranging = useArranging(stack, layout, folding, arrangement);
  const searchField = useRef<HTMLInputElement>(null);
  const slot = useRef<HTMLDivElement>(null);
  const focusStage = () => stageRef.current?.focus({ preventScroll: true });
  const [dragMode, setDragMode] = useState<DragMode>("range");
  const [dragged, setDragged] = useState<Pick<TimelineState, "range" | "over"> | null>(null);
  const [helpOpen, setHelpOpen] = useState(false);
  const { range, over } = dragged ?? state;
  const gaps = gapScopeOf(useParams()["gaps"], state.range !== null);

  useEffect(() => {
    stage?.update({ layout, mode, names, matches: find.matches, hits: find.hits, path: path.pieces, selected: followed.slice, flows: followed.arrows, range, over, selection, iterations, notes });
  }, [stage, layout, mode, names, find.matches, find.hits, path.pieces, followed.slice, followed.arrows, range, over, selection, iterations, notes]);
  useTheming(stage);
  const { on } = useParams() as Record<string, string | undefined>;
  useEffect(() => {
    if (stage === null || on === undefined || sliceId !== null) return;
    const group = layout.rows.find((row) => row.kind === "group" && row.group.title === on);
    if (group !== undefined) stage.scrollTo(group.topPx - stage.stickyPx);
    // eslint-disable-next-line react-hooks/exhaustive-deps -- once, as the page opens: a fold moves nothing
  }, [stage]);
  const selected = useMemo(() => hullOf(selection), [selection]);
  useAddressedViewport(stage, state.at, state.range ?? (state.isSelecting ? undefined : selected));
  useGestures(stage, {
    dragMode: () => dragMode,
    onRange: (next, done, draggedOver) => {
      // A band has no slices to sum up: a drag over bands alone sums up the active worker.
      const tracksBelow = draggedOver?.filter((key) => workerOfBand(key) === null) ?? null;
      const [track] = tracksBelow ?? [];
      const { worker, prefix, tracks } = track === undefined ? active : partOf(stack, track);
      const chosen = tracksOver(tracksBelow, prefix, tracks.tracks.length);
      setDragged(done ? null : { range: next, over: keysOnScreen(chosen, prefix) });
      if (!done || next.endNs <= next.startNs) return;
      const marked = formatRange(next);
      writeAddress({ range: marked, over: formatOver(marked, chosen), slice: null, gaps: null, note: null, on: worker === stack.parts[0].worker ? null : worker });
    },
    onPick: (hit) => stage !== null && pickBox(stage, hit, followed.pick),
    onZoom: (hit) => stage !== null && zoomToBox(stage, hit),
  });
  const onCommand = (command: Command) => {
    if (stage === null) return;
    const clear = () => (helpOpen ? setHelpOpen(false) : writeAddress(notePosition !== undefined ? { note: null } : sliceId !== null ? { slice: null } : gaps !== null ? { gaps: null } : { range: null, over: null }));
    const onNote = () => writeAddress({ note: formatPosition(positionOfNote(stage, stack, followed.slice)) });
    const focusPanel = () => slot.current?.focus({ preventScroll: true });
    runCommand(command, { stage, followed, find, range: range ?? selected, focusSearch: () => searchField.current?.select(), focusPanel, onPin: arranging.onPin, onPath, onNote, clear });
  };
  useTimelineKeys(stage, { onCommand, onHelp: () => setHelpOpen(!helpOpen) });

  return (
    <div className="timeline">
      <Toolbar
        stage={stage}
        stack={stack}
        mode={mode}
        dragMode={dragMode}
        helpOpen={helpOpen}
        search={<SearchField field={searchField} text={find.text} result={find.result} workers={stack.parts.length} onSearch={find.search} onStep={find.step} onLeave={focusStage} />}
        levels={<LevelsControl stack={stack} />}
        stacking={<StackControl worker={target.worker.name} others={otherWorkers} stacked={stack.parts.map(({ worker }) => worker).filter((name) => otherWorkers.includes(name))} own={{ run: target.run.name, worker: target.worker.name, span: target.span.name }} />}
        onMode={(next) => writeAddress({ colors: next === "category" ? null : next })}
        onDragMode={setDragMode}
        onHelp={setHelpOpen}
        onWhole={() => onCommand("whole")}
        onPicture={() => stage !== null && void savePicture(stage, target)}
        onExport={() => stage !== null && savePerfettoExport(stage.viewport, active, target)}
        onGaps={() => writeAddress({ gaps: gaps === null ? (state.range === null ? "trace" : "range") : null, slice: null, note: null })}
        gapsOpen={gaps !== null && sliceId === null}
        onNotes={() => (notePosition === undefined ? onCommand("note") : writeAddress({ note: null }))}
        noteCount={notes.length}
        notesOpen={notePosition !== undefined}
        onPath={onPath}
        pathOn={path.isOn}
      />
      {[...problems, ...(state.problem === null ? [] : [state.problem]), ...(path.problem === null ? [] : [path.problem])].map((problem) => (
        <p key={problem} className="tl-warns tl-problem" role="status">
          {problem}
        </p>
      ))}
      <StageFrame stage={stage} stageRef={stageRef} headersRef={headersRef} layout={layout} arrangement={arrangement} arranging={arranging} />
      {helpOpen && <KeyHelp onClose={() => setHelpOpen(false)} />}
      {dragged === null && (notePosition !== undefined || sliceId !== null || gaps !== null || state.range !== null) && (
        <PanelSlot slot={slot} onLeave={focusStage}>
          <TimelinePanel stage={stage} stack={stack} state={state} followed={followed} target={target} />
        </PanelSlot>
      )}
    </div>
  );
}

async function savePicture(stage: Stage, target: Target): Promise<void> {
  const title = [target.run.name, target.worker.name, target.span.name].filter((name) => name !== "").join(" ");
  const blob = await timelinePicture(stage, title);
  if (blob !== null) saveFile(`timeline_${title}.png`, "image/png", blob);
}
