import { randomBytes } from 'node:crypto';
import type { Model } from '../model/index.ts';
import type { PlaneInheritance } from './inheritance.ts';

/** Life of the secret of TLS tickets, in milliseconds. */
const ticketMs = 12 * 3_600_000;

/** The keys that all processes of a gateway share, with the program that replaces it. */
export class CommonKeys {
  /** 64 hex digits, for where the configuration has none. */
  readonly sessionKey: string;
  ticketSecret: Buffer;
  private readonly rotating: NodeJS.Timeout;

  /** @param onRotate hears of each further secret of TLS tickets */
  constructor(inherited: PlaneInheritance | undefined, onRotate: (secret: Buffer) => void) {
    this.sessionKey = inherited?.sessionKey ?? randomBytes(32).toString('hex');
    this.ticketSecret = inherited?.ticketSecret ?? randomBytes(32);
    this.rotating = setInterval(() => {
      this.ticketSecret = randomBytes(32);
      onRotate(this.ticketSecret);
    }, ticketMs).unref();
  }

  /** The model with a key: what one process seals, in ids of MCP and in cookies, must be known to the others. */
  sealing(model: Model): Model {
    const { process } = model;
    const { sessionKey = this.sessionKey } = process.fixed;
    return { ...model, process: { ...process, fixed: { ...process.fixed, sessionKey } } };
  }

  close(): void {
    clearInterval(this.rotating);
  }
}
