/** The queries that were run in this browser: a click runs one again. */
import { firstWords } from "./firstWords";
import { forgetAllQueries, forgetQuery, useHistory } from "./history";

interface Props {
  readonly onRun: (query: string) => void;
}

export function HistoryMenu({ onRun }: Props) {
  const history = useHistory();
  if (history.length === 0) return <p className="soft">Queries that you run are listed here. They stay in this browser.</p>;
  return (
    <div className="menu sql-menu">
      {history.map(({ query, atMs }) => (
        <div key={query} className="sql-past">
          <button type="button" className="sql-example" title={query} onClick={() => onRun(query)}>
            <span className="mono">{firstWords(query)}</span>
            <small className="soft">{new Date(atMs).toLocaleString([], { dateStyle: "medium", timeStyle: "short" })}</small>
          </button>
          <button type="button" className="button quiet icon" aria-label={`Delete from the history: ${firstWords(query, 40)}`} title="Delete from the history" onClick={() => forgetQuery(query)}>
            ×
          </button>
        </div>
      ))}
      <button type="button" className="button" onClick={forgetAllQueries}>
        Delete all {history.length}
      </button>
      <small className="soft">They stay in this browser.</small>
    </div>
  );
}
