/** The end of a page: the next question, as a link to its answer. */
import type { View, ViewInfo } from "../api/types";
import { ViewLink } from "../ui/ViewLink";
import { nextQuestion } from "./nextQuestions";
import { requestReveal } from "./reveal";

interface Props {
  readonly view: View;
  readonly tab: string;
  readonly views: readonly ViewInfo[];
}

export function NextStep({ view, tab, views }: Props) {
  const next = nextQuestion(view, tab, views);
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
