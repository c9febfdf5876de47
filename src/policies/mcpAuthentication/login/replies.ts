import type { HeaderLine, Reply } from '../../../http/index.ts';

const open: HeaderLine = ['access-control-allow-origin', '*'];

/** Pages use the endpoints for tokens and registrations: POST passes, a preflight is answered. */
export function posted(method: string): Reply | undefined {
  if (method === 'POST') return undefined;
  if (method !== 'OPTIONS') return notAllowed('POST, OPTIONS');
  const allowed: HeaderLine[] = [
    ['access-control-allow-methods', 'POST'],
    ['access-control-allow-headers', '*'],
    ['access-control-max-age', '600'],
  ];
  return { status: 204, headers: [open, ...allowed] };
}

export const notAllowed = (allow: string): Reply => ({ status: 405, headers: [['allow', allow]] });

export const json = (status: number, value: object): Reply => ({
  status,
  headers: [['content-type', 'application/json'], ['cache-control', 'no-store'], open],
  body: JSON.stringify(value),
});

export const oauthError = (error: string, description: string, status = 400): Reply =>
  json(status, { error, error_description: description });

export const redirect = (location: string): Reply => ({
  status: 303,
  headers: [
    ['location', location],
    ['cache-control', 'no-store'],
    ['referrer-policy', 'no-referrer'],
  ],
});

export const formOf = (body: Buffer): URLSearchParams => new URLSearchParams(body.toString('utf8'));

export function jsonOf(body: Buffer): unknown {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return value;
  } catch {
    return undefined;
  }
}
