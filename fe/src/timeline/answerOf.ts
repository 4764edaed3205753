/** An answer of the server that is waited for. */
import { ApiError, request } from "../api/client";

/** Between questions while traces are being read. */
const POLL_MS = 500;

/** The answer once there is one, or why there is none. */
export async function answerOf<T>(url: string, signal: AbortSignal): Promise<T | ApiError> {
  try {
    for (;;) {
      const answer = await request<T>(url, signal);
      if (answer.state === "ready") return answer.data;
      await new Promise((go) => setTimeout(go, POLL_MS));
      signal.throwIfAborted();
    }
  } catch (error) {
    if (error instanceof ApiError) return error;
    return new ApiError({ code: "aborted", message: "No longer asked for.", hint: "" }, 0);
  }
}
