import { isUtf8 } from 'node:buffer';
import type { LargeEvent } from '../../../http/index.ts';
import { wireIdOf } from '../../json/invalidMessage.ts';
import { ResponseScan, type MemberView, type ResponseParts } from '../../json/responseScan.ts';
import { targetError } from '../../messages/rpcError.ts';
import type { LargeAnswer } from '../kind/target.ts';
import type { MessageReceiver } from './messageReceiver.ts';
import { PieceMemory } from './pieceMemory.ts';

/**
 * A response whose parts go to the client as they arrive, because its first bytes tell which call it answers. A flaw that
 * shows later fails the call, whose answer then breaks off.
 */
export class LargeResponse implements LargeEvent, ResponseParts {
  readonly view: MemberView;
  private readonly receiver: MessageReceiver;
  private readonly wireId: number;
  private readonly answer: LargeAnswer;
  private readonly scan: ResponseScan;
  /** The memory of the piece that is read. */
  private memory: PieceMemory | undefined;
  /** The beginning of a character whose other bytes have not come. */
  private cut: Buffer | undefined;
  private isOver = false;

  /**
   * Looks at the beginning of a message.
   * @param wireId the call that it must answer if it is a response; 0 where only its id tells
   * @returns undefined for a message that has to be read whole
   */
  static begin(head: Buffer, wireId: number, receiver: MessageReceiver): LargeResponse | undefined {
    const named = callOf(head);
    if (named === undefined) return undefined;
    const meant = named === 0 ? wireId || receiver.calling.certain : named;
    const answer = meant === undefined ? undefined : receiver.calling.get(meant)?.beginLarge?.();
    if (meant === undefined || answer === undefined) return undefined;
    const response = new LargeResponse(receiver, meant, answer);
    response.take(head);
    return response;
  }

  private constructor(receiver: MessageReceiver, wireId: number, answer: LargeAnswer) {
    this.receiver = receiver;
    this.wireId = wireId;
    this.answer = answer;
    this.view = answer.view;
    this.scan = new ResponseScan(this);
  }

  take(bytes: Buffer): void {
    const piece = this.cut === undefined ? bytes : Buffer.concat([this.cut, bytes]);
    if (piece !== bytes) new PieceMemory(bytes).release();
    const memory = new PieceMemory(piece);
    this.memory = memory;
    if (!this.gone) this.read(piece);
    this.memory = undefined;
    memory.release();
  }

  private read(piece: Buffer): void {
    this.receiver.progressed(this.wireId);
    if (!this.scan.take(this.characters(piece))) this.fail();
  }

  end(): void {
    if (this.gone) return;
    if (this.cut !== undefined || !this.scan.end()) {
      this.fail();
      return;
    }
    this.isOver = true;
    const { receiver, wireId } = this;
    receiver.calling.settleAs(wireId, false);
    receiver.settled(wireId);
    this.answer.end();
  }

  tooLong(): void {
    if (this.gone) return;
    this.isOver = true;
    const what = 'answered with a message that is too large';
    this.receiver.failed(this.wireId, targetError('mcp_message_too_large', this.receiver.name, what));
  }

  cancel(): void {
    if (!this.gone) this.fail('answered with an event of another type');
  }

  // ResponseParts

  bytes(piece: Buffer): void {
    this.answer.write(piece, this.memory!.lend());
  }

  member(name: string, value: string): string | undefined {
    if (name !== 'id') return value;
    return Number(value) === this.wireId ? this.answer.idText : undefined;
  }

  addedMembers(seen: ReadonlySet<string>): string {
    return this.answer.addedMembers(seen);
  }

  /** The call was cancelled or has failed: the rest of the response is for nobody. */
  private get gone(): boolean {
    return this.isOver || this.receiver.calling.get(this.wireId) === undefined;
  }

  private fail(what = this.scan.flaw ?? 'answered with broken JSON'): void {
    this.isOver = true;
    this.receiver.failed(this.wireId, targetError('mcp_target_failed', this.receiver.name, what));
  }

  /** Whole characters, in valid UTF-8: as in every message, U+FFFD replaces what is none. */
  private characters(piece: Buffer): Buffer {
    const end = piece.length - unfinished(piece);
    this.cut = end === piece.length ? undefined : Buffer.from(piece.subarray(end));
    const whole = piece.subarray(0, end);
    return isUtf8(whole) ? whole : Buffer.from(whole.toString());
  }
}

/** Bytes of the beginning of a message that are looked at together. */
const headPiece = 4_096;

/** Bytes at the end that begin a character in UTF-8 and do not end it. */
function unfinished(bytes: Buffer): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const c = bytes[bytes.length - back]!;
    if (c < 0x80) return 0;
    if (c >= 0xc0) return (c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2) > back ? back : 0;
  }
  return 0;
}

/** The call that a response names before its result begins; 0 where it does not, undefined for another message. */
function callOf(head: Buffer): number | undefined {
  let id: string | undefined;
  const scan = new ResponseScan({
    view: { watched: new Set(), filterMember: (_name, value) => value },
    bytes: () => undefined,
    member: (name, value) => {
      if (name === 'id' && !scan.inResult) id ??= value;
      return value;
    },
  });
  // Copies, since the scan writes into its bytes. Most heads begin the result in the first piece.
  for (let at = 0; at < head.length && !scan.inResult; at += headPiece)
    if (!scan.take(Buffer.from(head.subarray(at, at + headPiece)))) break;
  if (!scan.inResult || scan.flaw !== undefined) return undefined;
  return id === undefined ? 0 : wireIdOf(id);
}
