/**
 * Adds bytes to a piece of memory of our own, which is replaced by one at least twice as large where they have no room.
 * @param used bytes of it that count
 * @param least its first size
 */
export function append(
  held: Buffer | undefined,
  used: number,
  bytes: Buffer,
  from: number,
  to: number,
  least: number,
): Buffer {
  const length = used + to - from;
  let room = held;
  if (room === undefined || room.length < length) {
    room = Buffer.allocUnsafe(Math.max(least, length, (held?.length ?? 0) * 2));
    held?.copy(room, 0, 0, used);
  }
  bytes.copy(room, used, from, to);
  return room;
}
