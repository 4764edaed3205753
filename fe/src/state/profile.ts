/** The names of the shown recording (run, worker, span), which everything exported from a page carries. */
import { createContext, useContext } from "react";

const NO_NAMES: readonly string[] = [];

export const ProfileNames = createContext(NO_NAMES);

/** Without those that are empty, as the only worker of a run may be. */
export function useProfileNames(): readonly string[] {
  return useContext(ProfileNames);
}
