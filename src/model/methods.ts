/** The standard methods (RFC 9110 §9.3, RFC 5789), which are also the methods that an HTTPRoute may match. */
export const standardMethods: readonly string[] = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'DELETE',
  'CONNECT',
  'OPTIONS',
  'TRACE',
  'PATCH',
];
