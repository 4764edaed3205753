/** Gives the parallel strategy where process groups do not say it. */
import type { SyntheticEvent } from "react";

interface Props {
  /** What is given; null recognizes the strategy. */
  readonly given: string | null;
  readonly onChange: (text: string | null) => void;
}

export function StrategyForm({ given, onChange }: Props) {
  const submit = (event: SyntheticEvent<HTMLFormElement>) => {
    event.preventDefault();
    const text = new FormData(event.currentTarget).get("parallel");
    onChange(typeof text === "string" && text.trim() !== "" ? text.trim() : null);
  };
  return (
    // Remounted when the address changes, so that the field shows it.
    <form key={given} className="strategy-form no-print" onSubmit={submit}>
      <input
        className="field"
        name="parallel"
        aria-label="Parallel strategy"
        placeholder="tp=8,pp=4,dp=2"
        title="Sizes of the dimensions: tp, pp, dp, fsdp, cp, ep; order=tp-cp-ep-dp-pp says how ranks are numbered."
        defaultValue={given ?? ""}
      />
      <button type="submit" className="button">
        Use this strategy
      </button>
      {given !== null && (
        <button type="button" className="button" onClick={() => onChange(null)}>
          Recognize it
        </button>
      )}
    </form>
  );
}
