import { isIP } from 'node:net';

const names = ['localhost', '127.0.0.1', '::1', '[::1]'];

/** Whether a host name or address can only mean this machine. */
export function isLoopback(host: string): boolean {
  return (
    names.includes(host.toLowerCase()) ||
    (isIP(host) === 4 && host.startsWith('127.')) ||
    /^::ffff:127\./i.test(host)
  );
}

/** Whether a URL, an origin or the value of a Host header points to this machine. */
export function isLoopbackUrl(url: string): boolean {
  return URL.canParse(url) && isLoopback(new URL(url).hostname);
}
