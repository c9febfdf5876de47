import type { HttpBackend } from '../model/index.ts';

/** The part of a backend that says where its requests go and how: all that backends need have in common to share it. */
export type Target = Omit<HttpBackend, 'kind' | 'weight' | 'key' | 'place'>;

const names: readonly string[] = Object.keys({
  host: true,
  port: true,
  addresses: true,
  tls: true,
  http2: true,
  eviction: true,
  check: true,
  connections: true,
  tcp: true,
} satisfies Record<keyof Target, true>);

export const targetOf = (backend: HttpBackend): Target =>
  Object.fromEntries(Object.entries(backend).filter(([name]) => names.includes(name))) as unknown as Target;
