/** Pieces that stay apart. */
const most = 1_024;

/** Text that comes in pieces. Small pieces are joined now and then, since a list of them takes many times their length. */
export class GatheredText {
  private blocks: string[] | undefined;
  private pieces: string[] = [];

  add(piece: string): void {
    this.pieces.push(piece);
    if (this.pieces.length < most) return;
    (this.blocks ??= []).push(this.pieces.join(''));
    this.pieces = [];
  }

  /** @returns the whole text, which is empty from now on */
  take(): string {
    const { blocks, pieces } = this;
    if (pieces.length === 0 && blocks === undefined) return '';
    this.blocks = undefined;
    this.pieces = [];
    const last = pieces.length === 1 ? pieces[0]! : pieces.join('');
    return blocks === undefined ? last : blocks.join('') + last;
  }
}
