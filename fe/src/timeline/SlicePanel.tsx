/** Everything about the selected slice: times, arguments, call stack, and the slices its arrows lead to. */
import type { Query } from "../api/client";
import { useAnswer } from "../api/hooks";
import type { SliceAnswer, SlicePayload, TimelineFlowsAnswer, TimelineStepPayload } from "../generated/schema";
import { formatFilter } from "../lib/grammar";
import { fullNames, shownName } from "../lib/names";
import { visibleText } from "../lib/visibleText";
import { StackView } from "../source/StackView";
import type { Params } from "../state/address";
import { useNameMode } from "../state/nameMode";
import { CopyButton } from "../ui/CopyButton";
import { ViewLink } from "../ui/ViewLink";
import { Namesakes } from "./Namesakes";
import { PanelFrame } from "./PanelFrame";
import { Peers } from "./Peers";
import { SliceArguments } from "./SliceArguments";
import { SliceLinks } from "./SliceLinks";
import { SliceTimes } from "./SliceTimes";
import { STEP_TITLES } from "./useFollowedSlice";
import "./panels.css";

interface Props {
  readonly trace: Query;
  /** The worker of the slice, when several are stacked. */
  readonly worker: string | null;
  readonly id: number;
  /** Trace time of the first slice. */
  readonly originUs: number;
  /** Its arrows and neighbours of the same name; null while they load. */
  readonly flows: TimelineFlowsAnswer | null;
  /** "12 % of ProfilerStep#5". */
  readonly share: string | null;
  readonly onGo: (id: number) => void;
  /** Whether slices of its name may be on other workers. */
  readonly isStacked: boolean;
  readonly onSame: (direction: 1 | -1) => void;
  readonly onFollow: (direction: "onward" | "back") => void;
  readonly onPeer: (worker: string, id: number) => void;
  readonly onClose: () => void;
}

export function SlicePanel({ trace, worker, id, originUs, flows, share, isStacked, onGo, onSame, onFollow, onPeer, onClose }: Props) {
  const mode = useNameMode();
  const answer = useAnswer<SliceAnswer>(`slice/${id}`, trace);
  if (answer.state === "failed") {
    return (
      <PanelFrame title={`Slice ${id}`} onClose={onClose}>
        <p className="soft">{answer.failure.message}</p>
      </PanelFrame>
    );
  }
  const detail = answer.state === "ready" ? answer.data.slice : answer.state === "loading" ? (answer.last?.slice ?? null) : null;
  if (detail === null) return <PanelFrame title="…" onClose={onClose} />;
  const siblings = flows?.slice.id === id ? flows : null;
  const names = { recorded: detail.name ?? "(no name)", short: detail.short_name, demangled: detail.demangled_name };
  return (
    <PanelFrame
      title={visibleText(shownName(names, mode))}
      fullTitle={visibleText(fullNames(names))}
      onClose={onClose}
      note={<CopyName detail={detail} />}
      actions={
        <>
          <FollowButton step={siblings?.back ?? null} direction="back" onFollow={onFollow} />
          <FollowButton step={siblings?.onward ?? null} direction="onward" onFollow={onFollow} />
          <Step label="Previous with this name" text="[" isEnabled={siblings !== null && (isStacked || siblings.previous !== null)} onStep={() => onSame(-1)} />
          <Step label="Next with this name" text="]" isEnabled={siblings !== null && (isStacked || siblings.next !== null)} onStep={() => onSame(1)} />
          <RowLinks detail={detail} />
        </>
      }
    >
      <div className="tl-columns tl-parts">
        <SliceTimes detail={detail} originUs={originUs} share={share} worker={worker} />
        <SliceArguments trace={trace} detail={detail} />
        <Namesakes trace={trace} id={detail.id} />
        <Stack detail={detail} />
        <SliceLinks detail={detail} onGo={onGo} />
        {siblings !== null && <Peers answer={siblings} worker={String(trace["worker"] ?? "")} onPeer={onPeer} />}
      </div>
    </PanelFrame>
  );
}

function Step({ label, text, isEnabled, onStep }: { readonly label: string; readonly text: string; readonly isEnabled: boolean; readonly onStep: () => void }) {
  const isNext = text === "]";
  return (
    <button type="button" className="button" disabled={!isEnabled} title={`${label} (${text})`} aria-label={label} onClick={onStep}>
      {isNext ? "Next ▸" : "◂ Previous"}
    </button>
  );
}

/** The step along the flow, named by what it leads to; nothing where there is none. */
function FollowButton({ step, direction, onFollow }: { readonly step: TimelineStepPayload | null; readonly direction: "onward" | "back"; readonly onFollow: Props["onFollow"] }) {
  if (step === null) return null;
  const title = step.worker ?? visibleText(step.slice.name);
  const isBack = direction === "back";
  return (
    <button type="button" className="button" title={`${title} (${isBack ? "Shift + g" : "g"})`} onClick={() => onFollow(direction)}>
      {isBack ? `↰ ${STEP_TITLES[step.kind]}` : `${STEP_TITLES[step.kind]} ↴`}
    </button>
  );
}

/** Links to the same name in other views. */
function RowLinks({ detail }: { readonly detail: SlicePayload }) {
  const name = detail.name ?? "";
  const view = VIEW_OF[detail.category];
  if (view === undefined) return null;
  const extra: Params =
    view === "modules" ? { "modules.q": name.replace(/^nn\.Module: /, "") } : { [`${view}.filter`]: formatFilter([{ key: "name", operator: "=", value: name }]) };
  return (
    <ViewLink className="button" view={view} params={extra}>
      Show in {view}
    </ViewLink>
  );
}

const VIEW_OF: Readonly<Record<string, string>> = {
  operator: "operators",
  python_operator: "operators",
  kernel: "kernels",
  module: "modules",
};

/** Copies the full name, and the short one where it differs. */
function CopyName({ detail: { name, short_name: short } }: { readonly detail: SlicePayload }) {
  if (name === null) return null;
  return (
    <>
      <CopyButton text={name} label="Copy name" title="Copy name, in full as recorded" />
      {short !== null && short !== name && <CopyButton text={short} label="Copy short" title="Copy short name" />}
    </>
  );
}

function Stack({ detail }: { readonly detail: SlicePayload }) {
  if (detail.call_stack.length === 0) return null;
  return (
    <section className="tl-frames" aria-label="Call stack">
      <h3>Call stack</h3>
      <StackView stack={detail.call_stack.map((frame) => frame.text).join("\n")} />
    </section>
  );
}
