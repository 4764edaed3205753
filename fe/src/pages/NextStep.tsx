/** The end of a page: the next question, as a link to its answer. */
import type { View, ViewInfo } from "../api/types";
import { ViewLink } from "../ui/ViewLink";
import { nextQuestion } from "./nextQuestions";
import { requestReveal } from "./reveal";

interface Props {
  readonly view: View;
  readonly tab: string;
  readonly views: readonly ViewInfo[];
  /** How many workers the run has. */
  readonly workers: number;
}

export function NextStep({ view, tab, views, workers }: Props) {
  const next = nextQuestion(view, tab, views, workers);
  if (next === null) return null;
  return (
    <p className="next-step no-print">
      Next:{" "}
      <ViewLink view={next.view} params={next.params} onGo={requestReveal}>
        {next.text}
      </ViewLink>
    </p>
  );
}
