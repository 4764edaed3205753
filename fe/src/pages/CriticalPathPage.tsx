/** The critical path of a step, and an estimate of the step time if something were faster. */
import { ShareCard, type SharePart } from "../chart/ShareCard";
import { numberOf, textOf } from "../lib/rows";
import { adjust, useParams } from "../state/urlStore";
import { Segmented } from "../ui/Segmented";
import { EFFECTS, EFFECT_TITLES, effectOf, formatWhatIf, parseWhatIf, type WhatIf } from "./criticalPath/whatIf";
import { BigFacts } from "./Facts";
import { GenericBody } from "./GenericPage";
import { ViewFrame, type PageProps, type ViewContext } from "./ViewFrame";

/** Parameter of the address with the change to estimate. */
const KEY = "what_if";
const MAX_NAMES = 100;
const WHAT_IF_FACTS = "what_if_";
/** Variables of the theme by category: those of the same work on other pages. */
const COLORS: Readonly<Record<string, string>> = {
  compute: "--cat-kernel",
  communication: "--cat-communication",
  copy: "--cat-memcpy",
  kernel_gap: "--mark-weak",
  data_loading: "--cat-dataloader",
  operator: "--cat-cpu-exec",
  python: "--mark-strong",
  runtime: "--cat-runtime",
  launch: "--mark-wait",
  sync_return: "--cat-memset",
  stream_wait: "--mark-overlap",
  hand_over: "--line-strong",
};
/** The picture has the categories already. */
const FOLDED = ["categories", "what_if", "pieces"];

export function CriticalPathPage(props: PageProps) {
  const text = useParams()[KEY];
  return (
    <ViewFrame {...props} extra={{ [KEY]: text }}>
      {(context) => (
        <>
          <PathShares context={context} />
          <WhatIfCard context={context} change={parseWhatIf(text)} />
          <GenericBody {...context} view={{ ...context.view, facts: context.view.facts.filter(({ key }) => !key.startsWith(WHAT_IF_FACTS)) }} folded={FOLDED} />
        </>
      )}
    </ViewFrame>
  );
}

/** The path as one bar by category. */
function PathShares({ context: { view, fileName } }: { readonly context: ViewContext }) {
  const table = view.tables["categories"];
  if (table === undefined || table.row_count === 0) return null;
  const parts = table.rows.map((row): SharePart => {
    const name = textOf(table, row, "title");
    return { name, us: numberOf(table, row, "path_us"), pct: numberOf(table, row, "pct"), color: COLORS[textOf(table, row, "category")] ?? "--cat-other" };
  });
  return <ShareCard title="The critical path" help={table.help} parts={parts} nullReason={table.null_reasons["path_us"] ?? ""} fileName={fileName("shares")} />;
}

function WhatIfCard({ context: { view }, change }: { readonly context: ViewContext; readonly change: WhatIf | null }) {
  const table = view.tables["operators"];
  const names = [...new Set((table?.rows ?? []).slice(0, MAX_NAMES).map((row) => (table === undefined ? "" : textOf(table, row, "name"))))];
  const all = change === null || names.includes(change.name) ? names : [change.name, ...names];
  if (all.length === 0) return null;
  const choose = (change: WhatIf | null) => adjust({ [KEY]: change === null ? null : formatWhatIf(change) });
  return (
    <section className="card" aria-label="Try a change">
      <header>
        <h2>Try a change</h2>
        <select
          className="field no-print"
          aria-label="Operator or kernel"
          style={{ maxWidth: "min(420px, 100%)" }}
          value={change?.name ?? ""}
          onChange={({ target }) => choose(target.value === "" ? null : { name: target.value, effect: change?.effect ?? "halve" })}
        >
          <option value="">choose an operator or kernel …</option>
          {all.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        {change !== null && <Segmented label="Change" values={EFFECTS} value={change.effect} onPick={(effect) => choose({ name: change.name, effect: effectOf(effect) })} title={(effect) => EFFECT_TITLES[effectOf(effect)]} />}
      </header>
      {change !== null && (
        <div className="body">
          <BigFacts facts={view.facts.filter(({ key }) => key.startsWith(WHAT_IF_FACTS))} notes={[]} />
        </div>
      )}
    </section>
  );
}
