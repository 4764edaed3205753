/** The parts of MindSpore Insight's overview: their main figures, a small picture, and the page of each. */
import type { Note, Table } from "../../api/types";
import { readEvidence } from "../../lib/evidence";
import { exactValue } from "../../lib/format";
import { visibleText } from "../../lib/visibleText";
import { ViewLink } from "../../ui/ViewLink";
import { FINDINGS } from "../Findings";
import { worstFirst } from "../QualityNotes";
import { requestReveal } from "../reveal";
import type { ViewContext } from "../ViewFrame";
import { partsOf, PARTS, type Figure, type Part } from "./mindSporeParts";

/** Titles of findings that the card names. */
const NAMED_FINDINGS = 3;

interface Props {
  readonly context: ViewContext;
  readonly table: Table;
}

export function MindSporeParts({ context, table }: Props) {
  const parts = partsOf(table);
  return (
    <section className="card" aria-label={table.title} data-table="mindspore_parts">
      <header>
        <h2 title={table.help}>{table.title}</h2>
      </header>
      <div className="body insight">
        {PARTS.map(({ key, title, views }) => {
          const figures = parts[key];
          return figures !== undefined && <InsightPart key={key} title={title} view={views.find(context.hasView) ?? null} figures={figures} />;
        })}
        <Assistant notes={context.view.notes} />
      </div>
    </section>
  );
}

interface PartProps {
  readonly title: string;
  /** The page of the part; null if it has nothing to show. */
  readonly view: string | null;
  readonly figures: readonly Figure[];
}

function InsightPart({ title, view, figures }: PartProps) {
  const shares = figures.filter(({ kind }) => kind === "share");
  return (
    <section aria-label={title}>
      <h3>{view === null ? title : <ViewLink view={view}>{title}</ViewLink>}</h3>
      {shares.length > 0 && (
        <div className="split" aria-hidden="true">
          {shares.map(({ item, pct, color }) => (
            <i key={item} style={{ width: `${pct ?? 0}%`, background: `var(${color})` }} title={visibleText(item)} />
          ))}
        </div>
      )}
      <table className="average">
        <tbody>
          {figures.map((figure) => (
            <tr key={figure.item} className={figure.kind === "whole" ? "total" : undefined}>
              <th scope="row">
                {figure.kind === "share" && <i className="swatch" style={{ background: `var(${figure.color})` }} />}
                {visibleText(figure.item)}
              </th>
              <td title={figure.us === null ? undefined : exactValue(figure.us, "us")}>{figure.text}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** What MindSpore Insight calls its assistant. */
function Assistant({ notes }: { readonly notes: readonly Note[] }) {
  const advice = worstFirst(notes.filter(({ kind }) => kind === "advice"));
  const titles = advice.flatMap((note) => readEvidence(note).title ?? []);
  return (
    <section aria-label={ASSISTANT}>
      <h3>
        <ViewLink view="overview" params={{ table: FINDINGS }} onGo={requestReveal}>
          {ASSISTANT}
        </ViewLink>
      </h3>
      <p>{advice.length === 0 ? "No finding" : advice.length === 1 ? "1 finding" : `${advice.length} findings`}</p>
      <ul className="soft">
        {titles.slice(0, NAMED_FINDINGS).map((title, index) => (
          <li key={`${title} ${index}`}>{title}</li>
        ))}
      </ul>
    </section>
  );
}

const ASSISTANT: Part["title"] = "Assistant";
