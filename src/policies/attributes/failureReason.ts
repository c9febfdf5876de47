/**
 * The failures of expressions, in words of the program alone. Functions put names and texts of a request into their
 * messages, and those must not reach the log.
 */
const known = [
  'found no matching overload',
  'field not found',
  'unsupported key type',
  'map key conflict',
  'out of bounds',
  'has no value here',
  'wants a map',
  'wants numbers',
  'only lists and maps can be iterated over',
  'more than',
  'units of work',
  'out of steps',
  'the text is no int',
  'the text is no uint',
  'the text is no double',
  'the text is no bool',
  'the text is no duration',
  'the text is no timestamp',
  'overflow during type conversion',
  'not an IP address',
  'not an address range',
] as const;

/** The reason of a failure; the part behind the colon is kept where the expression itself contains it. */
export function failureReason(message: string, source: string): string {
  const reason = known.find((text) => message.includes(text));
  if (reason === undefined) return 'the evaluation failed';
  const colon = message.indexOf(': ');
  const detail = colon < 0 ? '' : message.slice(colon + 2);
  return detail !== '' && source.includes(detail) ? `${reason}: ${detail}` : reason;
}
