/** Queries to start from; a click runs one. */
import type { SqlExamplePayload } from "../../generated/schema";

interface Props {
  readonly examples: readonly SqlExamplePayload[];
  readonly onRun: (query: string) => void;
}

export function ExampleCards({ examples, onRun }: Props) {
  return (
    <section className="card" aria-label="Examples">
      <header>
        <h2>Examples</h2>
        <span className="soft">A click runs one; change it in the editor.</span>
      </header>
      <ul className="body sql-examples">
        {examples.map((example) => (
          <li key={example.title}>
            <Example example={example} onRun={onRun} />
          </li>
        ))}
      </ul>
    </section>
  );
}

export function ExampleMenu({ examples, onRun }: Props) {
  return (
    <div className="menu sql-menu">
      {examples.map((example) => (
        <Example key={example.title} example={example} onRun={onRun} />
      ))}
    </div>
  );
}

function Example({ example: { title, help, query }, onRun }: Pick<Props, "onRun"> & { readonly example: SqlExamplePayload }) {
  return (
    <button type="button" className="sql-example" title={query} onClick={() => onRun(query)}>
      <b>{title}</b>
      <span className="soft">{help}</span>
    </button>
  );
}
