/** Keeps the frame usable when a page throws: a bug, or a chunk of code that could not be fetched. */
import { Component, type ReactNode } from "react";

import { FailureCard } from "../ui/stateCards";

interface Props {
  /** Identifies the page; the error is cleared when it changes. */
  readonly about: string;
  readonly children: ReactNode;
}

interface State {
  readonly about: string;
  readonly error: Error | null;
}

export class PageBoundary extends Component<Props, State> {
  override state: State = { about: this.props.about, error: null };

  static getDerivedStateFromProps({ about }: Props, state: State): State | null {
    return about === state.about ? null : { about, error: null };
  }

  static getDerivedStateFromError(error: unknown): Partial<State> {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return <FailureCard title="This page cannot be shown" failure={{ code: "page", message: error.message, hint: "Reload the page; another view may work meanwhile." }} />;
  }
}
