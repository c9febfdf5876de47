/** An operation that knows its place in the list; -1 where it is in none. */
export interface ListedOperation {
  place: number;
}

/** The operations that have begun and not ended. A list with places: a Set would compute a hash for each operation. */
export class OpenOperations<Operation extends ListedOperation> {
  private readonly list: Operation[] = [];

  get all(): readonly Operation[] {
    return [...this.list];
  }

  add(operation: Operation): void {
    operation.place = this.list.length;
    this.list.push(operation);
  }

  /** @returns false where the operation has ended before */
  remove(operation: Operation): boolean {
    const { place } = operation;
    if (place === -1) return false;
    operation.place = -1;
    const last = this.list.pop()!;
    if (last === operation) return true;
    last.place = place;
    this.list[place] = last;
    return true;
  }
}
