import { EventReader } from '../api/eventReader.ts';
import type { Message } from './mcpTypes.ts';

/** Reads the JSON-RPC messages of a response while it arrives: JSON, or an event stream. */
export class MessageReader {
  /** The text of a response without messages, such as a refusal. */
  text = '';
  private readonly type: string;
  private readonly events: EventReader;
  private readonly take: (message: Message) => void;

  /** @param type content type of the response */
  constructor(type: string, take: (message: Message) => void) {
    this.type = type;
    this.take = take;
    this.events = new EventReader(({ data }) => take(JSON.parse(data) as Message));
  }

  read(part: string): void {
    if (this.type.startsWith('text/event-stream')) this.events.read(part);
    else this.text += part;
  }

  /** Reads the rest. */
  end(): void {
    if (!this.type.startsWith('application/json') || this.text === '') return;
    const value: unknown = JSON.parse(this.text);
    // Refusals of policies are JSON, too.
    if (typeof value !== 'object' || value === null || !('jsonrpc' in value)) return;
    this.text = '';
    this.take(value as Message);
  }
}
