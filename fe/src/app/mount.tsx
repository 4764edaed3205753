/** Starts the application in the current document: the standalone page, or TensorBoard's plugin frame. */
import { QueryClientProvider } from "@tanstack/react-query";
import { createRoot } from "react-dom/client";

import { setApiBase } from "../api/client";
import { queryClient } from "../api/queryClient";
import { startUrlStore } from "../state/urlStore";
import { startTheme } from "../ui/theme";
import { App } from "./App";
import "./theme.css";
import "./app.css";
import "./selection.css";
import "./dialog.css";
import "./picker.css";
import "./states.css";
import "../table/table.css";
import "../pages/pages.css";
import "./forced.css";
import "./phone.css";
import "./print.css";

export function mount(apiBase: URL): void {
  setApiBase(apiBase);
  startTheme();
  startUrlStore();
  document.title ||= "PyTorch Profiler";
  document.documentElement.lang ||= "en";
  const root = document.createElement("div");
  root.id = "torch-tb-profiler";
  root.style.height = "100%";
  document.body.append(root);
  createRoot(root).render(
    <QueryClientProvider client={queryClient}>
      <App />
    </QueryClientProvider>,
  );
}
