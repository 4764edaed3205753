/** Searches in several workers, waited for together. */
import { useEffect, useState } from "react";

import type { ApiError } from "../api/client";
import type { TimelineSearchAnswer } from "../generated/schema";
import { answerOf } from "./answerOf";

type Told = TimelineSearchAnswer | ApiError;

const NOTHING: readonly never[] = [];

/**
 * The answers at `urls`, in their order, once all are there; null until then.
 *
 * @param urls Null asks nothing yet.
 */
export function useSearches(urls: readonly string[] | null): readonly Told[] | null {
  const key = urls === null ? null : urls.join("\n");
  const [found, setFound] = useState<{ readonly key: string; readonly answers: readonly Told[] } | null>(null);
  useEffect(() => {
    if (key === null || key === "") return;
    const abort = new AbortController();
    const ask = async () => {
      const answers = await Promise.all(key.split("\n").map((url) => answerOf<TimelineSearchAnswer>(url, abort.signal)));
      if (!abort.signal.aborted) setFound({ key, answers });
    };
    void ask();
    return () => abort.abort();
  }, [key]);
  if (key === "") return NOTHING;
  return found !== null && found.key === key ? found.answers : null;
}
