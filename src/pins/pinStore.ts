import type { PinKind } from './definition.ts';

/** An item of a server whose definition is remembered. */
export interface PinnedItem {
  readonly backend: string;
  readonly target: string;
  readonly kind: PinKind;
  /** The target's own name, or its template of URIs; empty for instructions. */
  readonly name: string;
}

/** `new`: the definition has just been remembered. `full`: too many items of the target are remembered. */
export type PinVerdict = 'same' | 'new' | 'changed' | 'full';

/** An item whose server defines it otherwise than it was remembered. */
export interface ChangedItem extends PinnedItem {
  /** JSON texts of the definitions (`definition.ts`). */
  readonly pinned: string;
  readonly found: string;
  /** When the new definition was first seen, in ISO 8601. */
  readonly seenAt: string;
}

/** A definition as it is kept. */
export interface PinFile extends PinnedItem {
  readonly definition: string;
  /** ISO 8601. */
  readonly seenAt: string;
}

/** Items of one target that are remembered: a hostile server could make up names for ever. */
export const maxItems = 10_000;

/** The names of the remembered items of one target. */
export interface PinnedNames {
  has(kind: PinKind, name: string): boolean;
}

/** The remembered definitions, of all processes that share their place. */
export interface PinStore {
  /**
   * Compares a definition with the remembered one; the first one is remembered.
   * @param definition as `definitionOf` writes it
   * @throws Error where the place cannot be read or written
   */
  check(item: PinnedItem, definition: string): Promise<PinVerdict>;
  /**
   * The names of the items of a target.
   * @throws Error where the place cannot be read
   */
  names(target: Pick<PinnedItem, 'backend' | 'target'>): Promise<PinnedNames>;
  /**
   * The items whose definition has changed.
   * @throws Error where the place cannot be read
   */
  changed(): AsyncIterable<ChangedItem>;
  /**
   * Remembers the new definition in place of the old one: the one that was shown, for the server may have changed it
   * again since.
   * @throws Error where the place cannot be written
   */
  approve(item: ChangedItem): Promise<void>;
  /**
   * A mark of the approvals so far: it differs after each one, by whichever process.
   * @throws Error where the place cannot be read
   */
  approvals(): Promise<string>;
  /**
   * Forgets the new definition; it is noted again should the server still have it.
   * @throws Error where the place cannot be written
   */
  reject(item: PinnedItem): Promise<void>;
}
