/** Cards instead of a page: the trace is still read, failed, or has no data for the view. */
import type { ReactNode } from "react";

import type { Failure, Run, Span, ViewInfo } from "../api/types";
import { formatNumber, formatSeconds, formatValue } from "../lib/format";
import { visibleText } from "../lib/visibleText";

interface PendingProps {
  readonly span: Span;
  readonly run: Run | null;
}

export function PendingCard({ span, run }: PendingProps) {
  const others = (run?.workers ?? [])
    .flatMap((worker) => worker.spans.map((each) => ({ worker: worker.name, span: each })))
    .filter(({ span: each }) => each.file !== span.file && (each.state === "parsing" || each.state === "failed"));
  return (
    <section className="card" aria-busy="true">
      <header>
        <h2>{PENDING_TITLES[span.state]}</h2>
      </header>
      <div className="body pending">
        <Progress span={span} label={span.file} />
        {others.map(({ worker, span: each }) => (
          <Progress key={`${worker}/${each.name}`} span={each} label={each.file} />
        ))}
        <p className="soft">Pages appear as soon as they are ready.</p>
      </div>
    </section>
  );
}

const PENDING_TITLES: Readonly<Record<Span["state"], string>> = {
  queued: "Waiting to read the trace",
  parsing: "Reading the trace",
  ready: "Opening the trace",
  failed: "Opening the trace",
};

function Progress({ span, label: name }: { readonly span: Span; readonly label: string }) {
  const percent = Math.round(span.progress * 100);
  const label = visibleText(name);
  return (
    <div>
      <p className="pending-line">
        <span className="mono">{label}</span>
        <span className="soft">{progressText(span)}</span>
      </p>
      <div className="meter" role="progressbar" aria-label={label} aria-valuenow={percent} aria-valuemin={0} aria-valuemax={100}>
        <i style={{ width: `${percent}%` }} />
      </div>
    </div>
  );
}

/** "42 % of 38.1 MiB, 120 MB/s, 3 s left". */
export function progressText(span: Span): string {
  if (span.state === "failed") return `failed: ${visibleText(span.error?.message ?? "no reason given")}`;
  if (span.state === "queued") return `${formatValue(span.size_bytes, "bytes")}, waiting`;
  const parts = [`${Math.round(span.progress * 100)} % of ${formatValue(span.size_bytes, "bytes")}`];
  if (span.mb_per_s !== null) parts.push(`${formatNumber(span.mb_per_s, span.mb_per_s < 10 ? 1 : 0)} MB/s`);
  if (span.eta_s !== null) parts.push(span.eta_s < 1 ? "less than a second left" : `${formatSeconds(span.eta_s)} left`);
  return parts.join(", ");
}

/** No error: the recording has no data for the view. */
interface NoDataProps {
  readonly view: ViewInfo;
  readonly reason: string;
  /** Where to look instead. */
  readonly elsewhere?: ReactNode;
}

export function NoDataCard({ view, reason, elsewhere }: NoDataProps) {
  const title = `${view.title}: nothing to show for ${view.scope === "pair" ? "these traces" : "this trace"}`;
  return (
    <section className="card" aria-label={title}>
      <header>
        <h2>{title}</h2>
      </header>
      <p className="body">
        {visibleText(reason)} {elsewhere}
      </p>
    </section>
  );
}

interface FailureProps {
  readonly title: string;
  readonly file?: string;
  readonly failure: Failure;
  readonly onRetry?: () => void;
  /** What else can be done about it. */
  readonly children?: ReactNode;
}

export function FailureCard({ title, file, failure, onRetry, children }: FailureProps) {
  return (
    <section className="card failed" role="alert">
      <header>
        <h2>{title}</h2>
      </header>
      <div className="body">
        <dl className="facts">
          {file !== undefined && (
            <>
              <dt>File</dt>
              <dd className="mono">{visibleText(file)}</dd>
            </>
          )}
          <dt>Cause</dt>
          <dd>{visibleText(failure.message)}</dd>
          {failure.hint !== null && failure.hint !== "" && (
            <>
              <dt>Next step</dt>
              <dd>{visibleText(failure.hint)}</dd>
            </>
          )}
        </dl>
        {onRetry !== undefined && (
          <p style={{ marginTop: 12 }}>
            <button type="button" className="button" onClick={onRetry}>
              Try again
            </button>
          </p>
        )}
        {children}
      </div>
    </section>
  );
}
