import { z } from 'zod';

/** RFC 9110 §5.6.2. */
export const tokenPattern = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** RFC 9110 §5.5: visible characters, spaces and tabs inside; never CR, LF or NUL, which would begin a new header. */
export const valuePattern = /^(?:[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?$/;

/** Can a message have the line? @param line a name and a value */
export const isHeaderLine = ([name, value]: readonly [string, string]): boolean =>
  tokenPattern.test(name) && valuePattern.test(value);

/** The name of a header that another server wrote, in a form for the log. */
export const shownHeaderName = (name: string): string => name.slice(0, 64).replaceAll(/[^\x21-\x7e]/g, '?');

export const headerName = (description = 'Name of a header field.') =>
  z.string().regex(tokenPattern, 'not a header name (RFC 9110 §5.1)').meta({ description });

export const headerValue = (description = 'Value of a header field.') =>
  z
    .string()
    .regex(
      valuePattern,
      'not a header value: only visible ASCII, spaces and tabs, none at the ends (RFC 9110 §5.5)',
    )
    .meta({ description });
