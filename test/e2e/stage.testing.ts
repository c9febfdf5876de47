import { fileURLToPath } from 'node:url';
import { startDevIdp, type DevIdp } from '../../apps/dev-idp/src/index.ts';
import { startEcho, type Echo } from '../../apps/echo/src/index.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';

/** The parts that the tests share: an authorization server, and pieces of configuration that fit it. */

export const audience = 'api://tools';
export const group = 'mcp-users';

export const node = process.execPath;
export const everything = fileURLToPath(
  import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'),
);
/** A server that misbehaves on demand, one tool for each way. */
export const rogue = fileURLToPath(new URL('../../src/mcp/fixtures/server.ts', import.meta.url));

/** An authorization server with a client and a user in the group, and a client and a user in none. */
export async function startIdp(): Promise<DevIdp & AsyncDisposable> {
  const idp = await startDevIdp({
    port: 0,
    config: {
      audience,
      scopes: ['mcp'],
      clients: [
        { id: 'insider', secret: 'insider-secret', groups: [group] },
        { id: 'outsider', secret: 'outsider-secret' },
      ],
      users: [{ name: 'alice', groups: [group] }, { name: 'carol', groups: [group] }, { name: 'bob' }],
    },
  });
  return disposable(idp);
}

/** The sample HTTP app on a free port. */
export const startEchoApp = async (): Promise<Echo & AsyncDisposable> =>
  disposable(await startEcho({ port: 0 }));

const disposable = <T extends { close(): Promise<void> }>(owned: T): T & AsyncDisposable =>
  Object.assign(owned, { [Symbol.asyncDispose]: () => owned.close() });

export interface McpRoute {
  readonly idp: DevIdp;
  readonly path: string;
  readonly target: object;
  /** Joined to the policies of the route. */
  readonly policies?: object;
}

/** JSON is YAML. */
export const inline = (value: unknown): string => JSON.stringify(value);

/** The rogue server over stdio, as the `backends` of a route. */
export const rogueBackends = inline([
  { mcp: { targets: [{ name: 'target', stdio: { cmd: node, args: [rogue] } }] } },
]);

/** A gateway with the rogue server under /mcp, and an app for everything else. @param port of the app */
export const rogueBeside = (port: number, config: object): string => `
config: ${inline(config)}
binds:
- port: 0
  listeners:
  - routes:
    - matches: [{ path: { pathPrefix: /mcp } }]
      backends: ${rogueBackends}
    - backends: [{ host: '127.0.0.1:${port}' }]
`;

/** A gateway that has nothing else on its port. */
export const rogueAlone = (config: object = {}): string => `
config: ${inline(config)}
binds:
- port: 0
  listeners:
  - routes:
    - backends: ${rogueBackends}
`;

export const authentication = (idp: DevIdp, settings: object = {}): object => ({
  mode: 'strict',
  issuer: idp.issuer,
  audiences: [audience],
  jwks: { url: `${idp.issuer}/v1/keys` },
  authorization: { rules: [{ if: `"${group}" in auth.claims.groups` }] },
  ...settings,
});

/** A route with a stdio target behind token and group, as an item of a `routes` list. */
export const mcpRoute = ({ idp, path, target, policies }: McpRoute): string => `
    - name: ${path.slice(1).replaceAll('/', '-') || 'root'}
      matches: [{ path: { pathPrefix: ${path} } }]
      policies: ${inline({ mcpAuthentication: authentication(idp), ...policies })}
      backends: [{ mcp: { targets: [{ name: target, stdio: ${inline(target)} }] } }]`;

/** A gateway with one route: server-everything behind tokens of `idp`. */
export const startBeforeEverything = (idp: DevIdp, path = '/mcp'): Promise<GatewayProcess> =>
  startGateway(`
binds:
- port: 0
  listeners:
  - routes:
${mcpRoute({ idp, path, target: { cmd: node, args: [everything, 'stdio'] } })}
`);
