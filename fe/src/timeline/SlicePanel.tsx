/** Everything about the selected slice: times, arguments, call stack, and where its arrows lead. */
import type { ReactNode } from "react";

import { apiUrl, type Query } from "../api/client";
import { useResource } from "../api/hooks";
import { exactValue, formatNumber, formatValue } from "../lib/format";
import { formatFilter } from "../lib/grammar";
import { shortenMiddle } from "../lib/shorten";
import { StackView } from "../source/StackView";
import type { Params } from "../state/address";
import { goToView, useParams, viewHref } from "../state/urlStore";
import type { TimelineFlowsAnswer, TimelineSlicePayload } from "../generated/schema";
import { Peers } from "./Peers";
import type { Linked, SliceAnswer, SliceDetail } from "./sliceAnswer";

interface Props {
  readonly trace: Query;
  readonly id: number;
  readonly flows: TimelineFlowsAnswer | null;
  /** "12 % of ProfilerStep#5". */
  readonly share: string | null;
  readonly onGo: (id: number) => void;
  readonly onPeer: (worker: string, id: number) => void;
  readonly onClose: () => void;
}

export function SlicePanel({ trace, id, flows, share, onGo, onPeer, onClose }: Props) {
  const answer = useResource<SliceAnswer>(apiUrl(`slice/${id}`, trace));
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
      <div className="tl-columns">
        <Times detail={detail} share={share} delayNs={launchDelay(detail)} />
        <Arguments args={detail.args} />
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
function RowLinks({ detail }: { readonly detail: SliceDetail }) {
  const params = useParams();
  const name = detail.name ?? "";
  const view = VIEW_OF[detail.category];
  if (view === undefined) return null;
  const extra: Params =
    view === "modules" ? { "modules.q": name.replace(/^nn\.Module: /, "") } : { [`${view}.filter`]: formatFilter([{ key: "name", operator: "=", value: name }]) };
  return (
    <a
      className="button"
      href={viewHref(params, view, extra)}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        goToView(view, extra);
      }}
    >
      Show in {view}
    </a>
  );
}

const VIEW_OF: Readonly<Record<string, string>> = {
  operator: "operators",
  python_operator: "operators",
  kernel: "kernels",
  module: "modules",
};

/** Copies and sets say it themselves; a launch is early by what its kernel waits. */
function launchDelay(detail: SliceDetail): number | null {
  const delay = detail.args["launch_delay_ns"];
  return typeof delay === "number" ? delay : null;
}

function Times({ detail, share, delayNs }: { readonly detail: SliceDetail; readonly share: string | null; readonly delayNs: number | null }) {
  const rows: [string, number | null][] = [
    ["Duration", detail.dur_us],
    ["Self", detail.self_us],
    ["Launch delay", delayNs === null ? null : delayNs / 1000],
    ["Device total", detail.device_total_us],
    ["Device self", detail.device_self_us],
  ];
  return (
    <dl className="facts">
      {rows.map(([title, us]) =>
        us === null ? null : (
          <Fact key={title} title={title}>
            <span title={exactValue(us, "us")}>{formatValue(us, "us")}</span>
            {title === "Duration" && share !== null && <span className="soft"> · {share}</span>}
          </Fact>
        ),
      )}
      <Fact title="Kind">{detail.raw_category ?? detail.category}</Fact>
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

function Arguments({ args }: { readonly args: SliceDetail["args"] }) {
  const entries = Object.entries(args).filter(([key]) => key !== "launch_delay_ns");
  if (entries.length === 0) return null;
  return (
    <dl className="facts">
      {entries.map(([key, value]) => (
        <Fact key={key} title={argumentTitle(key)}>
          <span className="mono">{argumentText(key, value)}</span>
        </Fact>
      ))}
    </dl>
  );
}

/** "est_achieved_occupancy_pct" → "est. achieved occupancy". */
export function argumentTitle(key: string): string {
  const words = key.replace(/_(pct|ns)$/, "").replace(/(.)_bytes$/, "$1").replace(/^est_/, "est. ");
  return words.replaceAll("_", " ").replace(/\bsm\b/, "SM");
}

/** Numbers by the unit in their key. */
export function argumentText(key: string, value: SliceDetail["args"][string]): string {
  if (typeof value !== "number") return String(value);
  if (key.endsWith("bytes")) return formatValue(value, "bytes");
  if (key.endsWith("_ns")) return formatValue(value / 1000, "us");
  if (key.endsWith("_pct")) return formatValue(value, "pct");
  return formatNumber(value, Number.isInteger(value) ? 0 : 2);
}

function Stack({ detail }: { readonly detail: SliceDetail }) {
  if (detail.call_stack.length === 0) return null;
  return (
    <div>
      <h3>Call stack</h3>
      <StackView stack={detail.call_stack.map((frame) => frame.text).join("\n")} />
    </div>
  );
}

/** What `/slice` tells of relations, in words; those of a launch come from both sides. */
const RELATIONS: readonly (readonly [string, string])[] = [
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

function Links({ detail, onGo }: { readonly detail: SliceDetail; readonly onGo: Props["onGo"] }) {
  const related = RELATIONS.flatMap(([key, title]) => {
    const linked = detail.links[key];
    return linked === undefined || linked.count === 0 ? [] : [{ title, linked }];
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

function SliceList({ linked, onGo }: { readonly linked: Linked; readonly onGo: Props["onGo"] }) {
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
