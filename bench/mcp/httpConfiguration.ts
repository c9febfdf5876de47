import type { TestIssuer } from '../../test/support/issuer.ts';

/** The endpoints of the gateway in front of servers over HTTP, by their paths. */
export type HttpEndpoint =
  '/one' | '/ten' | '/ten-ruled' | '/one-modern' | '/ten-modern' | '/ten-modern-ruled';

const isCaller = '"benchers" in auth.claims.groups';
/** Decides for each item: it hides none of the servers' tools. */
const isTool = 'mcp.tool.name != "internal" && "benchers" in auth.claims.groups';

const endpoints: Readonly<
  Record<HttpEndpoint, { readonly targets: number; readonly server: 'mcp' | 'modern'; readonly rule: string }>
> = {
  '/one': { targets: 1, server: 'mcp', rule: isCaller },
  '/ten': { targets: 10, server: 'mcp', rule: isCaller },
  '/ten-ruled': { targets: 10, server: 'mcp', rule: isTool },
  '/one-modern': { targets: 1, server: 'modern', rule: isCaller },
  '/ten-modern': { targets: 10, server: 'modern', rule: isCaller },
  '/ten-modern-ruled': { targets: 10, server: 'modern', rule: isTool },
};

export interface HttpPorts {
  readonly port: number;
  readonly statsPort: number;
  readonly serverPort: number;
}

/** Files of an audit stream with a chain. */
export interface AuditFiles {
  readonly path: string;
  readonly keyFile: string;
}

/** A verified token and a rule in front of `echo-http-server.mjs`; with an audit stream where its files are given. */
export function httpConfiguration(
  { port, statsPort, serverPort }: HttpPorts,
  issuer: TestIssuer,
  audit?: AuditFiles,
): object {
  const routes = Object.entries(endpoints).map(([path, { targets, server, rule }]) => ({
    matches: [{ path: { exact: path } }],
    policies: {
      mcpAuthentication: {
        mode: 'strict',
        issuer: issuer.issuer,
        audiences: ['api://bench'],
        jwks: { url: issuer.jwksUrl },
        authorization: { rules: [{ if: rule }] },
      },
    },
    backends: [
      {
        mcp: {
          targets: Array.from({ length: targets }, (_, index) => ({
            name: `t${index}`,
            mcp: { host: `http://127.0.0.1:${serverPort}/${server}/${index}` },
          })),
        },
      },
    ],
  }));
  return {
    config: {
      adminAddr: 'off',
      statsAddr: `127.0.0.1:${statsPort}`,
      readinessAddr: 'off',
      ...(audit && {
        audit: { sink: { file: { path: audit.path } }, chain: { key: { file: audit.keyFile } } },
      }),
    },
    binds: [{ port, listeners: [{ routes }] }],
  };
}
