/** The search field of a table, for text or a regular expression. */
import type { TableStateControl } from "./useTableState";

interface Props {
  readonly title: string;
  readonly control: TableStateControl;
  /** Whether regular expressions work: the server matches them. */
  readonly takesExpressions: boolean;
  /** Why the search failed. */
  readonly problem: string | null;
}

export function SearchField({ title, control, takesExpressions, problem }: Props) {
  const { search, searchIsExpression } = control.state;
  const wrong = search !== "" && problem !== null;
  return (
    <span className="search-field">
      <input
        type="search"
        className="field search"
        placeholder={searchIsExpression ? "^aten::(conv|mm)" : "Search this table"}
        aria-label={`Search ${title}`}
        aria-invalid={wrong}
        title={wrong ? problem : undefined}
        spellCheck={false}
        value={search}
        onChange={({ target }) => control.setSearch(target.value)}
      />
      {takesExpressions && (
        <button
          type="button"
          className="button"
          aria-pressed={searchIsExpression}
          aria-label="Regular expression"
          title="Search by a regular expression: ^ and $ for begin and end, . for any character, a|b for either"
          onClick={() => control.setSearchIsExpression(!searchIsExpression)}
        >
          .*
        </button>
      )}
    </span>
  );
}
