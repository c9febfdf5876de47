/**
 * Remembers how the answers of a backend under TLS end. Nearly all say their length. Where one ends with its
 * connection instead, it is complete only if TLS was ended in order (RFC 9112 §9.8), which only watched
 * connections tell: so connections are watched until an answer has said its length, and again from the first one
 * on that does not.
 */
export class AnswerEnds {
  private known: 'length' | 'connection' | undefined;

  /** Should a new connection be watched? */
  get watch(): boolean {
    return this.known !== 'length';
  }

  /** Are connections that are not watched of no use any more? */
  get mustWatch(): boolean {
    return this.known === 'connection';
  }

  saidLength(): void {
    this.known ??= 'length';
  }

  endedWithConnection(): void {
    this.known = 'connection';
  }
}
