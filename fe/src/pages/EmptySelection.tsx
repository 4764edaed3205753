/** A selection beside what a view shows must not look like a run in which nothing happened. */
import { navigate, useParams } from "../state/urlStore";

interface Props {
  /** What there is none of: "kernel". */
  readonly what: string;
  readonly consequence?: string;
}

export function EmptySelection({ what, consequence = "" }: Props) {
  const params = useParams();
  const isSelected = ["steps", "start_us", "end_us"].some((key) => key in params);
  return (
    <section className="card" role="alert">
      <div className="body">
        <p>
          <b>
            {isSelected ? "This selection" : "This trace"} holds no {what}.
          </b>{" "}
          {consequence}{" "}
          {isSelected && (
            <button type="button" className="button" onClick={() => navigate({ steps: null, start_us: null, end_us: null })}>
              Look at the whole trace
            </button>
          )}
        </p>
      </div>
    </section>
  );
}
