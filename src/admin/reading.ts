/** Methods that change nothing (RFC 9110 §9.2.1), as far as the operator's pages know them. */
export const reading: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
