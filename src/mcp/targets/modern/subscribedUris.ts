import type { RetainedMemory } from '../../limits/retainedMemory.ts';
import type { CanSeeResource } from '../kind/target.ts';

const maxUris = 1_024;
/** Characters of all URIs together. */
const maxLength = 1_048_576;

/** The resources that the client of a session subscribed to. */
export class SubscribedUris {
  /** They wait for a caller for whom they can be judged. */
  unjudged = false;
  private readonly uris = new Set<string>();
  private readonly keep: RetainedMemory;
  private length = 0;

  constructor(keep: RetainedMemory) {
    this.keep = keep;
  }

  has(uri: string): boolean {
    return this.uris.has(uri);
  }

  /** The URIs that the server may be told. */
  get told(): readonly string[] {
    return this.unjudged ? [] : [...this.uris];
  }

  /** @returns false where there is no room */
  add(uri: string): boolean {
    if (this.uris.has(uri)) return true;
    if (this.uris.size >= maxUris || this.length + uri.length > maxLength) return false;
    this.keep.add(uri.length);
    if (this.keep.isOverLimit) {
      this.keep.remove(uri.length);
      return false;
    }
    this.uris.add(uri);
    this.length += uri.length;
    return true;
  }

  delete(uri: string): void {
    if (!this.uris.delete(uri)) return;
    this.length -= uri.length;
    this.keep.remove(uri.length);
  }

  /**
   * The server is told again: the rules may hide by now what the client subscribed to.
   * @param canSeeResource undefined where nobody is there to be judged
   */
  judge(canSeeResource: CanSeeResource | undefined): void {
    this.unjudged = canSeeResource === undefined && this.uris.size > 0;
    if (canSeeResource === undefined) return;
    for (const uri of [...this.uris]) if (!canSeeResource(uri)) this.delete(uri);
  }
}
