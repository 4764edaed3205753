/** Everything about the selected slice: times, arguments, call stack, and where its arrows lead. */
import type { ReactNode } from "react";

import type { Query } from "../api/client";
import { useAnswer } from "../api/hooks";
import { formatNumber, formatValue } from "../lib/format";
import { formatFilter } from "../lib/grammar";
import { shortenMiddle } from "../lib/shorten";
import { StackView } from "../source/StackView";
import type { Params } from "../state/address";
import { ViewLink } from "../app/ViewLink";
import type { LinkedPayload, SliceAnswer, SliceLinksPayload, SlicePayload, TimelineFlowsAnswer, TimelineSlicePayload } from "../generated/schema";
import { Peers } from "./Peers";
import { argumentsOf, timesOf } from "./sliceFacts";
import "./panels.css";

interface Props {
  readonly trace: Query;
  /** Whose slice it is, when there are several. */
  readonly worker: string | null;
  readonly id: number;
  /** Whether the trace tells of device work. */
  readonly flows: TimelineFlowsAnswer | null;
  /** "12 % of ProfilerStep#5". */
  readonly share: string | null;
  readonly onGo: (id: number) => void;
  readonly onPeer: (worker: string, id: number) => void;
  readonly onClose: () => void;
}

export function SlicePanel({ trace, worker, id, flows, share, onGo, onPeer, onClose }: Props) {
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
  return (
    <PanelFrame
      title={detail.name ?? "(no name)"}
      onClose={onClose}
      actions={
        <>
          <Step label="Previous of this name" text="[" slice={siblings?.previous ?? null} onGo={onGo} />
          <Step label="Next of this name" text="]" slice={siblings?.next ?? null} onGo={onGo} />
          <RowLinks detail={detail} />
        </>
      }
    >
      <div className="tl-columns tl-parts">
        <Times detail={detail} share={share} worker={worker} />
        <Arguments detail={detail} />
        <Stack detail={detail} />
        <Links detail={detail} onGo={onGo} />
        {siblings !== null && <Peers answer={siblings} worker={String(trace["worker"] ?? "")} onPeer={onPeer} />}
      </div>
    </PanelFrame>
  );
}

interface FrameProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly actions?: ReactNode;
  readonly children?: ReactNode;
}

export function PanelFrame({ title, onClose, actions, children }: FrameProps) {
  return (
    <section className="card tl-panel" aria-label={title}>
      <header>
        <h2 className="tl-panel-title" title={title}>
          {shortenMiddle(title, 140)}
        </h2>
        <span style={{ flex: 1 }} />
        {actions}
        <button type="button" className="button quiet icon" aria-label="Close" title="Close (Esc)" onClick={onClose}>
          ✕
        </button>
      </header>
      <div className="body">{children}</div>
    </section>
  );
}

function Step({ label, text, slice, onGo }: { readonly label: string; readonly text: string; readonly slice: TimelineSlicePayload | null; readonly onGo: Props["onGo"] }) {
  const isNext = text === "]";
  return (
    <button type="button" className="button" disabled={slice === null} title={`${label} (${text})`} aria-label={label} onClick={() => slice !== null && onGo(slice.id)}>
      {isNext ? "Next ▸" : "◂ Previous"}
    </button>
  );
}

/** Where the same name stands in other views. */
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

interface TimesProps {
  readonly detail: SlicePayload;
  readonly share: string | null;
  readonly worker: string | null;
}

function Times({ detail, share, worker }: TimesProps) {
  return (
    <dl className="facts">
      {timesOf(detail).map(({ title, us, help }) => (
        <Fact key={title} title={title}>
          <span title={help}>{formatValue(us, "us")}</span>
          {title === "Duration" && share !== null && <span className="soft"> · {share}</span>}
        </Fact>
      ))}
      <Fact title="Kind">{detail.raw_category ?? detail.category}</Fact>
      {worker !== null && <Fact title="Worker">{worker}</Fact>}
      {detail.step !== null && <Fact title="Step">{detail.step}</Fact>}
      {detail.correlation !== null && <Fact title="Correlation">{detail.correlation}</Fact>}
    </dl>
  );
}

function Fact({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <>
      <dt>{title}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Arguments({ detail }: { readonly detail: SlicePayload }) {
  const shown = argumentsOf(detail);
  if (shown.length === 0) return null;
  return (
    <dl className="facts">
      {shown.map(({ key, title, text }) => (
        <Fact key={key} title={title}>
          <span className="mono">{text}</span>
        </Fact>
      ))}
    </dl>
  );
}

function Stack({ detail }: { readonly detail: SlicePayload }) {
  if (detail.call_stack.length === 0) return null;
  return (
    <div className="tl-frames">
      <h3>Call stack</h3>
      <StackView stack={detail.call_stack.map((frame) => frame.text).join("\n")} />
    </div>
  );
}

/** What `/slice` tells of relations, in words; those of a launch come from both sides. */
const RELATIONS: readonly (readonly [keyof SliceLinksPayload, string])[] = [
  ["launch", "Launched by"],
  ["owner", "Operator"],
  ["launched", "Launches"],
  ["device_work", "Device work"],
  ["forward", "Forward"],
  ["backward", "Backward"],
  ["parent", "Inside"],
  ["frame", "Python frame"],
  ["children", "Contains"],
];
const SHOWN = 8;

function Links({ detail, onGo }: { readonly detail: SlicePayload; readonly onGo: Props["onGo"] }) {
  const related = RELATIONS.flatMap(([key, title]) => {
    const linked = detail.links[key];
    return linked.count === 0 ? [] : [{ title, linked }];
  });
  if (related.length === 0) return null;
  return (
    <dl className="facts">
      {related.map(({ title, linked }) => (
        <Fact key={title} title={title}>
          <SliceList linked={linked} onGo={onGo} />
        </Fact>
      ))}
    </dl>
  );
}

function SliceList({ linked, onGo }: { readonly linked: LinkedPayload; readonly onGo: Props["onGo"] }) {
  return (
    <>
      {linked.slices.slice(0, SHOWN).map(({ id, name }) => (
        <div key={id}>
          <button type="button" className="frame-link" title={name ?? ""} onClick={() => onGo(id)}>
            {shortenMiddle(name ?? "(no name)", 60)}
          </button>
        </div>
      ))}
      {linked.count > SHOWN && <div className="soft">and {formatNumber(linked.count - Math.min(SHOWN, linked.slices.length))} more</div>}
    </>
  );
}
