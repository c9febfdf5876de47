/**
 * The reasons why a token was refused: for the log and the audit record. On the wire there is only what RFC 6750
 * §3.1 allows (`description`), so that a caller learns nothing about keys, issuers or other callers.
 */
export const tokenReasons = {
  malformed: 'The access token is malformed',
  too_large: 'The access token is malformed',
  header: 'The access token is malformed',
  algorithm: 'The access token uses an algorithm that is not accepted',
  type: 'The access token is of the wrong type',
  critical: 'The access token is malformed',
  claims: 'The access token is malformed',
  issuer: 'The access token is not from a trusted issuer',
  no_key_id: 'The access token is not valid',
  unknown_key: 'The access token is not valid',
  key_mismatch: 'The access token is not valid',
  signature: 'The access token is not valid',
  expired: 'The access token expired',
  not_yet_valid: 'The access token is not valid yet',
  issued_in_future: 'The access token is not valid yet',
  audience: 'The access token is for another audience',
  missing_claim: 'The access token lacks a required claim',
  not_exchangeable: 'The access token is not accepted for the backend',
} as const;

export type TokenReason = keyof typeof tokenReasons;
