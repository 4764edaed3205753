/** The bar above the timeline: visible range, search, colours, saving. */
import type { ReactNode } from "react";

import { formatNumber, formatValue } from "../lib/format";
import { Popover } from "../ui/Popover";
import { Segmented } from "../ui/Segmented";
import { ColorLegend } from "./ColorLegend";
import { COLOR_MODES, type ColorMode } from "./colors";
import type { DragMode } from "./gestures";
import { KEY_HELP } from "./keys";
import type { Stack } from "./stack";
import type { Stage } from "./stage";
import { useStage } from "./useStage";
import { spanNs } from "./viewport";

interface Props {
  readonly stage: Stage | null;
  readonly stack: Stack;
  readonly mode: ColorMode;
  readonly dragMode: DragMode;
  readonly helpOpen: boolean;
  readonly search: ReactNode;
  readonly levels: ReactNode;
  readonly stacking: ReactNode;
  readonly onMode: (mode: ColorMode) => void;
  readonly onDragMode: (mode: DragMode) => void;
  readonly onHelp: (open: boolean) => void;
  readonly onWhole: () => void;
  readonly onPicture: () => void;
  readonly onExport: () => void;
  readonly onGaps: () => void;
  readonly gapsOpen: boolean;
  readonly onNotes: () => void;
  readonly noteCount: number;
  readonly notesOpen: boolean;
  readonly onPath: () => void;
  readonly pathOn: boolean;
}

export function Toolbar(props: Props) {
  const { stage, stack, mode, dragMode } = props;
  const overlapping = stack.parts.reduce((sum, { tracks }) => sum + tracks.overlapping, 0);
  const hiddenTracks = stack.parts.reduce((sum, { tracks }) => sum + tracks.tracks_left_out, 0);
  return (
    <div className="page-head tl-tools">
      <h1>Timeline</h1>
      {stage !== null && <Shown stage={stage} />}
      {overlapping > 0 && (
        <span className="tl-overlap" title="Slices that overlap others of their track without nesting. All are drawn, in separate lanes marked “overlapping”.">
          {formatNumber(overlapping)} overlapping
        </span>
      )}
      {hiddenTracks > 0 && (
        <span className="tl-overlap" title="The trace has more tracks than the page can show. Counters with the most points are shown. Overview, operators and kernels count everything.">
          {formatNumber(hiddenTracks)} tracks not shown
        </span>
      )}
      <span style={{ flex: 1 }} />
      {props.search}
      {props.levels}
      {props.stacking}
      <Segmented label="Drag mode" values={["range", "pan"]} value={dragMode} title={(value) => (value === "range" ? "Range" : "Move")} onPick={(value) => props.onDragMode(value as DragMode)} />
      <Popover label="Colours ▾" title="What the colours mean">
        {() => (
          <div className="menu">
            <Segmented label="Colours" values={COLOR_MODES} value={mode} title={(value) => `By ${value}`} onPick={(value) => props.onMode(value as ColorMode)} />
            <ColorLegend mode={mode} categories={stack.parts[0].tracks.categories} />
          </div>
        )}
      </Popover>
      <Popover label="Save ▾" title="Save the visible timeline">
        {(close) => (
          <div className="menu">
            <button type="button" className="button" onClick={() => {
                props.onPicture();
                close();
              }}>
              Picture (PNG)
            </button>
            <button type="button" className="button" onClick={() => {
                props.onExport();
                close();
              }}>
              Visible range as Chrome JSON
            </button>
            <small className="soft">Perfetto and chrome://tracing open the JSON. Nothing is uploaded.</small>
          </div>
        )}
      </Popover>
      {stack.parts.some(({ tracks }) => tracks.tracks.some(({ kind }) => kind === "merged")) && (
        <button type="button" className="button" aria-expanded={props.gapsOpen} title="When devices were idle, and why" onClick={props.onGaps}>
          Idle gaps
        </button>
      )}
      <button type="button" className="button" aria-expanded={props.notesOpen} title="Marks with a text, in the address (t adds one)" onClick={props.onNotes}>
        {props.noteCount === 0 ? "Notes" : `Notes (${props.noteCount})`}
      </button>
      <button type="button" className="button" aria-pressed={props.pathOn} title="Highlight the critical path of the step (c)" onClick={props.onPath}>
        Critical path
      </button>
      <button type="button" className="button" title="The whole trace (0)" onClick={props.onWhole}>
        Whole trace
      </button>
      <button type="button" className="button" aria-expanded={props.helpOpen} title="Keys and gestures (?)" onClick={() => props.onHelp(!props.helpOpen)}>
        Keys
      </button>
    </div>
  );
}

function Shown({ stage }: { readonly stage: Stage }) {
  const text = useStage(stage, ({ viewport }) => formatValue(spanNs(viewport) / 1000, "us"));
  return <span className="soft tl-shown">{text} on screen</span>;
}

export function KeyHelp({ onClose }: { readonly onClose: () => void }) {
  return (
    <section className="card tl-help" aria-label="Keys of the timeline">
      <header>
        <h2>Keys and gestures</h2>
        <span style={{ flex: 1 }} />
        <button type="button" className="button quiet icon" aria-label="Close" onClick={onClose}>
          ✕
        </button>
      </header>
      <dl className="facts body">
        {KEY_HELP.map(([keys, text]) => (
          <div key={keys} style={{ display: "contents" }}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
