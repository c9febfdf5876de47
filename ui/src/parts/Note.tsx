import type { ReactNode } from 'react';
import type { Tone } from './Tag.tsx';

/** A passage that stands out; one that reports a failure is announced by screen readers. */
export const Note = ({ tone = 'plain', children }: { tone?: Tone; children: ReactNode }) => (
  <div className="note" data-tone={tone} {...(tone === 'bad' ? { role: 'alert' } : {})}>
    {children}
  </div>
);
