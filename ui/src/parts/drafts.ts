/** Edits that are not saved. They stand above the router, so they outlive the page that shows them. */

import { useCallback, useSyncExternalStore } from 'react';

const drafts = new Map<string, unknown>();
const listeners = new Set<() => void>();
/** The names of the drafts; a new list at each change. */
let names: readonly string[] = [];

/** The browser asks before it leaves a page with unsaved edits. */
const warn = (event: BeforeUnloadEvent): void => event.preventDefault();

/** The draft of a name, as it is now. */
export const draftOf = <T>(name: string): T | undefined => drafts.get(name) as T | undefined;

/** Keeps a draft; undefined drops it. */
export function keepDraft<T>(name: string, draft: T | undefined): void {
  if (draft === undefined) drafts.delete(name);
  else drafts.set(name, draft);
  names = [...drafts.keys()];
  if (drafts.size > 0) addEventListener('beforeunload', warn);
  else removeEventListener('beforeunload', warn);
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

/** A draft and its setter; undefined where nothing is unsaved. */
export function useDraft<T>(name: string): readonly [T | undefined, (draft: T | undefined) => void] {
  const draft = useSyncExternalStore(subscribe, () => draftOf<T>(name));
  const keep = useCallback((next: T | undefined) => keepDraft(name, next), [name]);
  return [draft, keep];
}

/** The names of all drafts, which are the paths of their pages. */
export const useUnsaved = (): readonly string[] => useSyncExternalStore(subscribe, () => names);
