import { memberText, type Envelope } from '../json/envelope.ts';

/** Does the result of a `tools/call` say that the tool has failed? */
export const isToolError = ({ text, body, isError }: Envelope): boolean =>
  // A look at the text costs less than a walk over its members. A name may be written with escapes.
  !isError &&
  (text.includes('isError') || text.includes('\\')) &&
  memberText(text, body, 'isError') === 'true';
