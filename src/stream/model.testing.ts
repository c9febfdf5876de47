import { defaults, type Listener, type Model, type Route } from '../model/index.ts';

export const place = { file: 'test', line: 1, column: 1, path: '' };

/** Key of the addresses of a route's backend. */
export const endpointsOf = (name: string): string => `ns/${name}:80/TCP`;

export const routeNamed = (name: string, path = `/${name}`): Route => ({
  name,
  hostnames: [],
  matches: [{ path: { kind: 'prefix', value: path }, headers: [], query: [] }],
  policies: [],
  backends: [
    {
      kind: 'http',
      weight: 1,
      key: name,
      place,
      host: `${name}.ns.svc`,
      port: 80,
      endpoints: endpointsOf(name),
    },
  ],
  place,
});

/** A model with a port and a listener. */
export const modelWith = (routes: readonly Route[], more: Partial<Listener> = {}): Model => ({
  process: { ...defaults, accessLog: 'none' },
  binds: [
    {
      port: 0,
      address: '127.0.0.1',
      listeners: [{ name: 'http', protocol: 'HTTP', policies: [], routes, ...more } as Listener],
    },
  ],
});

export const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `r${index}`);
