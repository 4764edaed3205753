/** A selection beside what a view shows must not look like a run in which nothing happened. */
import { isSelected, WHOLE } from "../state/selection";
import { navigate, useParams } from "../state/urlStore";

interface Props {
  /** What there is none of: "kernel". */
  readonly what: string;
  readonly consequence?: string;
}

export function EmptySelection({ what, consequence = "" }: Props) {
  const params = useParams();
  const selected = isSelected(params);
  return (
    <section className="card" role="alert">
      <div className="body">
        <p>
          <b>
            {selected ? "This selection" : "This trace"} holds no {what}.
          </b>{" "}
          {consequence}{" "}
          {selected && (
            <button type="button" className="button" onClick={() => navigate(WHOLE)}>
              Look at the whole trace
            </button>
          )}
        </p>
      </div>
    </section>
  );
}
