/** A note that the selection has no rows of some kind, so that it is not mistaken for an idle run. */
import { isSelected, NO_PART } from "../state/selection";
import { navigate, useParams } from "../state/urlStore";

interface Props {
  /** What is missing, in the singular: "kernel". */
  readonly noun: string;
  readonly consequence?: string;
}

export function EmptySelection({ noun, consequence = "" }: Props) {
  const params = useParams();
  const selected = isSelected(params);
  return (
    <section className="card" role="alert">
      <div className="body">
        <p>
          <b>
            No {noun} in this {selected ? "selection" : "trace"}.
          </b>{" "}
          {consequence}{" "}
          {selected && (
            <button type="button" className="button" onClick={() => navigate(NO_PART)}>
              Show the whole trace
            </button>
          )}
        </p>
      </div>
    </section>
  );
}
