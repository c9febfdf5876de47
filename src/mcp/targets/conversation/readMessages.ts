import { readEnvelope, type Envelope } from '../../json/envelope.ts';
import { readInvalidMessage, type InvalidMessage } from '../../json/invalidMessage.ts';
import { parsedLength } from '../../json/parsed.ts';
import { Elements, skipSpace } from '../../json/scan.ts';

/** Messages of a batch, as for the batches of clients: a large text has room for millions of tiny ones. */
const maxBatch = 256;

/**
 * The messages of one line of a server: one, or those of a batch (2025-03-26). What is no message stands there as a
 * `InvalidMessage`, so that the call that it answers can fail.
 */
export function readMessages(line: string): readonly (Envelope | InvalidMessage)[] {
  if (line.length <= parsedLength && !isJsonText(line)) return [readInvalidMessage(line, 'not_json')];
  const at = skipSpace(line, 0);
  if (line.charCodeAt(at) !== 0x5b) return [read(line)];
  const found: (Envelope | InvalidMessage)[] = [];
  const elements = new Elements(line, at);
  while (elements.next()) {
    if (found.length === maxBatch) return [tooManyOf(line, found)];
    found.push(read(line.slice(elements.start, elements.end)));
  }
  if (elements.broken) found.push(readInvalidMessage(line, 'not_json'));
  return found;
}

/** A batch over the limit, as an answer to the calls that its first messages name. */
function tooManyOf(text: string, found: readonly (Envelope | InvalidMessage)[]): InvalidMessage {
  const ids = found.flatMap((message) => {
    if ('fault' in message) return message.ids;
    return message.kind === 'response' && typeof message.id === 'number' ? [message.id] : [];
  });
  const what = `answered with a batch of more than ${maxBatch} messages`;
  return { fault: 'not_message', text, what, ids, isAnswer: true };
}

function read(text: string): Envelope | InvalidMessage {
  const message = readEnvelope(text);
  return typeof message === 'string' ? readInvalidMessage(text, message) : message;
}

function isJsonText(text: string): boolean {
  // Cheaper than an exception for the common kind of garbage, a log line.
  const first = text.charCodeAt(skipSpace(text, 0));
  if (first !== 0x7b && first !== 0x5b) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
