import { readEnvelope, type Envelope, type Fault } from '../json/envelope.ts';
import { Elements, skipSpace } from '../json/scan.ts';

/**
 * Longer lines are checked for structure only: parsing a large list to throw the values away costs more than
 * everything else that happens to it.
 */
const parseLimit = 65_536;

/** The messages of one line of a server: one, or those of a batch (2025-03-26), or why it holds none. */
export function readMessages(line: string): readonly Envelope[] | Fault {
  if (line.length <= parseLimit && !isJsonText(line)) return 'not_json';
  const at = skipSpace(line, 0);
  if (line.charCodeAt(at) !== 0x5b) {
    const message = readEnvelope(line);
    return typeof message === 'string' ? message : [message];
  }
  const found: Envelope[] = [];
  const elements = new Elements(line, at);
  while (elements.next()) {
    const message = readEnvelope(line.slice(elements.start, elements.end));
    if (typeof message === 'string') return message;
    found.push(message);
  }
  return elements.broken ? 'not_json' : found;
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
