/** The size of a read from a backend. */
export const PAGE_BYTES = 65_536;

/**
 * Pages of one slab. Slabs are larger than 32 MiB, above which the usual allocator takes memory from the system for one
 * allocation and gives it back with it; smaller ones stay with the process for ever once there were many.
 */
const PAGES = 544;

interface Slab {
  readonly memory: Buffer;
  /** Free pages, the one at the lowest address last. */
  readonly free: number[];
}

/** Bytes that wait for clients lie in pages of a few large slabs, so that a flood of them leaves nothing behind. */
export class PagePool {
  private readonly slabs: Slab[] = [];
  private readonly places = new WeakMap<Buffer, { readonly slab: Slab; readonly index: number }>();

  /** Slabs with pages in use, and one that is kept for the next. */
  get size(): number {
    return this.slabs.length;
  }

  take(): Buffer {
    let slab = this.slabs.find(({ free }) => free.length > 0);
    if (slab === undefined) {
      const free = Array.from({ length: PAGES }, (_, index) => PAGES - 1 - index);
      slab = { memory: Buffer.allocUnsafeSlow(PAGES * PAGE_BYTES), free };
      this.slabs.push(slab);
    }
    const index = slab.free.pop() as number;
    const page = slab.memory.subarray(index * PAGE_BYTES, (index + 1) * PAGE_BYTES);
    this.places.set(page, { slab, index });
    return page;
  }

  /** Gives a page back, once, when nobody reads it any more. */
  give(page: Buffer): void {
    const home = this.places.get(page);
    if (home === undefined) return;
    this.places.delete(page);
    const { slab, index } = home;
    slab.free.push(index);
    // The first one stays, of which little was touched.
    if (slab.free.length === PAGES && this.slabs.length > 1) this.slabs.splice(this.slabs.indexOf(slab), 1);
  }
}

/** The pages of this process. */
export const pagePool = new PagePool();
