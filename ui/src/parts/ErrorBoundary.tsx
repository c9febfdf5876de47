import { Button } from '@mantine/core';
import { Component, type ReactNode } from 'react';
import { Note } from './Note.tsx';

interface State {
  readonly error: unknown;
}

/** Shows an error in place of a part that React cannot show, so that the rest of the page stays. */
export class ErrorBoundary extends Component<{ what: string; children: ReactNode }, State> {
  override state: State = { error: undefined };

  static getDerivedStateFromError(error: unknown): State {
    return { error: error ?? new Error('unknown error') };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return (
      <Note tone="bad">
        <p>
          <strong>The console cannot show {this.props.what}.</strong>{' '}
          {error instanceof Error ? error.message : String(error)}
        </p>
        <Button variant="default" size="compact-sm" onClick={() => this.setState({ error: undefined })}>
          Try again
        </Button>
      </Note>
    );
  }
}
