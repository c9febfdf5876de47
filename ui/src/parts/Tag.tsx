import type { ReactNode } from 'react';

/** The meaning of a colour. */
export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'plain';

/** A short word about a state. */
export const Tag = ({ tone = 'plain', children }: { tone?: Tone; children: ReactNode }) => (
  <span className="tag" data-tone={tone}>
    {children}
  </span>
);
