/** What a button says of what it has just done, for a moment. */
import { useEffect, useState } from "react";

const SAID_MS = 1500;

export function useSaid(): readonly [string | null, (text: string) => void] {
  const [said, setSaid] = useState<string | null>(null);
  useEffect(() => {
    if (said === null) return;
    const timer = setTimeout(() => setSaid(null), SAID_MS);
    return () => clearTimeout(timer);
  }, [said]);
  return [said, setSaid];
}
