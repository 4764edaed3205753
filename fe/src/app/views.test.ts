import { expect, it } from "vitest";

import type { Resource } from "../api/resource";
import type { Views } from "../api/types";
import { firstView } from "./views";

const answer = { first_view: "snapshot", views: [] } as unknown as Views;

it("opens the view that the trace is about, also while it is asked again", () => {
  expect(firstView({ state: "ready", data: answer })).toBe("snapshot");
  expect(firstView({ state: "loading", last: answer } as unknown as Resource<Views>)).toBe("snapshot");
  expect(firstView({ state: "loading", last: null } as unknown as Resource<Views>)).toBe("overview");
});
