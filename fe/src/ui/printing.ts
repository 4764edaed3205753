/** Calls `listener` before and after printing; returns a function that unsubscribes. */
export function onPrinting(listener: (printing: boolean) => void): () => void {
  const onBefore = () => listener(true);
  const onAfter = () => listener(false);
  window.addEventListener("beforeprint", onBefore);
  window.addEventListener("afterprint", onAfter);
  return () => {
    window.removeEventListener("beforeprint", onBefore);
    window.removeEventListener("afterprint", onAfter);
  };
}
